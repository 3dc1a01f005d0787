"""How bodies touch, as arrays for the kernels: contact points in clusters, signed distances of shapes, and the rows in
which triangles leave what their corners gather."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from diffloom.interfaces import InputError
from diffloom_geometry import Faces, Points
from diffloom_mechanics.contact.distance_grid import DistanceGrid, distance_grid
from diffloom_mechanics.node_sets import SHAPE_KINDS, ContactPoints, ShapeArrays

CLUSTER = 8
"""Most points in a cluster."""


def cluster_points(
    points: Sequence[Points], roundness: Sequence[float], reach: Sequence[float] | None = None
) -> ContactPoints:
    """``points`` (n, 3) [m] of each body in its own frame, with the radius [m] of the ball around each of them.

    reach: the farthest touching point of each body from its centre [m]; that of ``points`` when not given. Clusters are
    found by halving along the longest side.
    """
    clusters = [split(own) for own in points]
    flat = [cluster for group in clusters for cluster in group]
    centre = np.array([0.5 * (c.min(axis=0) + c.max(axis=0)) for c in flat])
    radius = np.array([np.linalg.norm(c - m, axis=1).max() for c, m in zip(flat, centre, strict=True)])
    if reach is None:
        reach = [float(np.linalg.norm(p, axis=1).max()) + rho for p, rho in zip(points, roundness, strict=True)]
    return ContactPoints(
        reach=np.array(reach),
        roundness=np.array(roundness, dtype=np.float64),
        cluster_starts=accumulate_offsets([len(group) for group in clusters]),
        cluster_centre=centre,
        # A little wider than the exact ball, so that rounding in float32 leaves no point out.
        cluster_radius=radius * (1.0 + 1e-6) + 1e-6 * np.repeat(reach, [len(g) for g in clusters]),
        point_starts=accumulate_offsets([len(cluster) for cluster in flat]),
        points=np.concatenate(flat),
    )


def split(points: Points) -> list[Points]:
    """Clusters of at most CLUSTER points; always the same for the same points."""
    if len(points) <= CLUSTER:
        return [points]
    axis = int(np.ptp(points, axis=0).argmax())
    order = np.argsort(points[:, axis], kind="stable")
    half = -(-len(points) // (2 * CLUSTER)) * CLUSTER
    return split(points[order[:half]]) + split(points[order[half:]])


def accumulate_offsets(counts: Sequence[int]) -> NDArray[np.int32]:
    """0 and the running sums of ``counts``."""
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)


@dataclass(frozen=True)
class BodyShape:
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


def build_shape_arrays(solids: Sequence[BodyShape], margin: float = 0.0) -> ShapeArrays:
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
    return ShapeArrays(
        kind=np.array([SHAPE_KINDS[solid.kind] for solid in solids], dtype=np.int32),
        dims=dims,
        low=np.array([low for low, _ in boxes]),
        high=np.array([high for _, high in boxes]),
        grid_start=np.array([0 if row is None else row[0] for row in rows], dtype=np.int32),
        grid_size=np.array([(0, 0, 0) if row is None else row[1].size for row in rows], dtype=np.int32),
        grid_origin=np.array([(0.0, 0.0, 0.0) if row is None else row[1].origin for row in rows]),
        grid_cell=np.array([1.0 if row is None else row[1].cell for row in rows]),
        grid_values=np.concatenate([grid.values for _, grid in grids.values()]) if grids else np.zeros(1),
    )


def bounds(solid: BodyShape) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
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


def sample_round_shape(kind: str, dims: Sequence[float]) -> tuple[Points, float]:
    """Return the points whose balls make up a round shape, and their radius [m].

    A sphere has its centre, a capsule points along its axis, half a radius apart. kind, dims: as for BodyShape.
    """
    if kind == "sphere":
        return np.zeros((1, 3)), dims[0]
    radius, half = dims
    points = np.zeros((1 + max(1, math.ceil(4.0 * half / radius)), 3))
    points[:, 1] = np.linspace(-half, half, len(points))
    return points, radius


def read_spacing(table: Mapping[str, Any], vertices: Points) -> float:
    """Return the largest distance [m] between the points of a shape that touch other bodies, from its table.

    By default it is a little over a third of the shape's longest side.
    """
    spacing = table.get("spacing", 0.36 * float(np.ptp(vertices, axis=0).max()))
    if not isinstance(spacing, (int, float)) or not spacing > 0.0:
        raise InputError(f"spacing: got {spacing!r}; expected a positive length")
    return float(spacing)


def read_rounding(table: Mapping[str, Any], kind: str, dims: Sequence[float]) -> float:
    """Return the radius [m] of a box's edges and corners, from its table; 0 unless given."""
    rounding = table.get("rounding", 0.0)
    if rounding == 0.0:
        return 0.0
    if kind != "box":
        raise InputError(f"rounding: got {rounding!r} for a {table.get('shape', 'mesh')}; only the corners of a box "
                         "are rounded so far: leave it out, or give a mesh that is round")  # fmt: skip
    if not isinstance(rounding, (int, float)) or not 0.0 < rounding < min(dims):
        raise InputError(f"rounding: got {rounding!r}; expected a radius from 0 to less than half the shortest edge, "
                         f"{min(dims):g} m")  # fmt: skip
    return float(rounding)


def round_up_to_power_of_two(n: int) -> int:
    """The smallest power of two that is not below n."""
    return 1 << max(n - 1, 1).bit_length()


def find_corner_slots(faces: NDArray[np.integer[Any]], particles: int) -> NDArray[np.int32]:
    """For each vertex i the rows 3 face + corner that belong to it, at slots[slots[i]] to slots[slots[i + 1]]."""
    starts = np.concatenate([[0], np.cumsum(np.bincount(faces.ravel(), minlength=particles))])
    rows = np.argsort(faces.ravel(), kind="stable")
    return np.concatenate([starts + particles + 1, rows]).astype(np.int32)
