"""Eigenvectors of the Laplacian on a line of cells."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from diffloom_kernels import Arena

from .records import PressureBasis


def line_eigenvectors(count: int, walls: bool) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return orthonormal eigenvectors (count, count) of the second difference, one per row, and the negated
    eigenvalues.

    An eigenvalue is 2 - 2 cos of the angle from cell to cell. The eigenvectors are cosines between walls, and cosines
    and sines when periodic.
    """
    cells = np.arange(count) + 0.5
    if walls:
        angles = np.pi * np.arange(count) / count
        rows = np.cos(angles[:, None] * cells)
    else:
        # About the middle, cosines of the angle pi and sines of 0 vanish, so that one vector remains for each cell.
        even, odd = np.arange((count + 1) // 2), np.arange(1, count // 2 + 1)
        angles = 2.0 * np.pi * np.concatenate([even, odd]) / count
        rows = np.concatenate([np.cos(angles[: len(even), None] * cells), np.sin(angles[len(even) :, None] * cells)])
    return rows / np.linalg.norm(rows, axis=1, keepdims=True), 2.0 - 2.0 * np.cos(angles)


@functools.lru_cache(maxsize=16)
def basis(arena: Arena, rows: int, columns: int, walls: bool) -> PressureBasis:
    """Return the eigenvectors of a grid as arrays of the arena. The constant pressure, which moves nothing, is left
    out.
    """
    along_x, of_x = line_eigenvectors(columns, walls)
    along_y, of_y = line_eigenvectors(rows, walls)
    total = of_y[:, None] + of_x[None, :]
    total[0, 0] = 1.0
    inverse = -1.0 / total
    inverse[0, 0] = 0.0

    def array(values: NDArray[np.float64]) -> Any:
        return arena.numbers(np.ascontiguousarray(values))

    return PressureBasis(array(along_x), array(along_x.T), array(along_y), array(along_y.T), array(inverse))
