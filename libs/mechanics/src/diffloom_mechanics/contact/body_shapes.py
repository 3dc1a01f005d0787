"""The signed distances of bodies: exact ones of boxes, spheres and capsules, grids for all other solids."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from diffloom_geometry import Faces, Points
from diffloom_mechanics.contact.distance_grid import DistanceGrid, distance_grid
from diffloom_mechanics.contact.touching import KINDS, BodyShapes


@dataclass(frozen=True)
class Solid:
    """A body's shape in its own frame.

    kind, dims: "box" with half edges (3,), "sphere" with (radius,), "capsule" with (radius, half length of its axis
    along y) [m]; "mesh" with () for all others, which are known by vertices (V, 3) and faces (F, 3), closed and looking
    outwards. roundness: of the balls around its touching points [m]; grid: cells along a mesh's longest side.
    """

    kind: str
    dims: tuple[float, ...]
    vertices: Points
    faces: Faces
    roundness: float = 0.0
    grid: int = 32


def body_shapes(solids: Sequence[Solid], margin: float = 0.0) -> BodyShapes:
    """As the kernels take them. Bodies with the same mesh share one grid of distances, which reaches out as far as
    their balls do, and at least by ``margin`` [m]."""
    roundest = max(margin, *(solid.roundness for solid in solids))
    grids: dict[tuple[bytes, int], tuple[int, DistanceGrid]] = {}
    rows: list[tuple[int, DistanceGrid] | None] = []
    total = 0
    for solid in solids:
        if solid.kind != "mesh":
            rows.append(None)
            continue
        key = (solid.vertices.tobytes() + solid.faces.tobytes(), solid.grid)
        if key not in grids:
            grids[key] = (total, distance_grid(solid.vertices, solid.faces, solid.grid, roundest))
            total += len(grids[key][1].values)
        rows.append(grids[key])
    dims = np.zeros((len(solids), 3))
    for i, solid in enumerate(solids):
        dims[i, : len(solid.dims)] = solid.dims
    boxes = [bounds(solid) for solid in solids]
    return BodyShapes(
        kind=np.array([KINDS[solid.kind] for solid in solids], dtype=np.int32),
        dims=dims,
        low=np.array([low for low, _ in boxes]),
        high=np.array([high for _, high in boxes]),
        grid_start=np.array([0 if row is None else row[0] for row in rows], dtype=np.int32),
        grid_size=np.array([(0, 0, 0) if row is None else row[1].size for row in rows], dtype=np.int32),
        grid_origin=np.array([(0.0, 0.0, 0.0) if row is None else row[1].origin for row in rows]),
        grid_cell=np.array([1.0 if row is None else row[1].cell for row in rows]),
        grid_values=np.concatenate([grid.values for _, grid in grids.values()]) if grids else np.zeros(1),
    )


def bounds(solid: Solid) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The box around a shape, a millionth wider so that rounding leaves nothing out."""
    low, high = solid.vertices.min(axis=0), solid.vertices.max(axis=0)
    if solid.kind == "sphere":
        high = np.full(3, solid.dims[0])
        low = -high
    elif solid.kind == "capsule":
        radius, half = solid.dims
        high = np.array([radius, half + radius, radius])
        low = -high
    extra = 1e-6 * float((high - low).max())
    return low - extra, high + extra
