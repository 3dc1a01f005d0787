"""Records that pipelines pass to the kernels of smoke."""

from __future__ import annotations

from typing import Any, NamedTuple


class FlowGrid(NamedTuple):
    """Numbers of rows and columns of cells; walls: 1 where walls close the domain, 0 where it is periodic."""

    rows: Any
    columns: Any
    walls: Any


class PressureBasis(NamedTuple):
    """Eigenvectors of the Laplacian along each axis, as rows and as columns, and the inverse eigenvalues.

    along_x: (columns, columns), along_y: (rows, rows); _t: transposed. inverse: (rows, columns).
    """

    along_x: Any
    along_x_t: Any
    along_y: Any
    along_y_t: Any
    inverse: Any


class FlowScratch(NamedTuple):
    """Work arrays of a step.

    pressure, product: (rows, columns). pushed, carried: velocities (rows, columns, 2). ways: (rows, columns, 3, 2)
    cotangents of the velocities at the two faces and the centre of each cell.
    """

    pressure: Any
    product: Any
    pushed: Any
    carried: Any
    ways: Any
