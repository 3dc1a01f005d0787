"""Arrays for contact between bodies: contact points in clusters, signed distances of shapes, rows that corners
gather.
"""

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
    """Sort the contact points of bodies into clusters, by halving along the longest side.

    Args:
        points: Points (n, 3) [m] of each body in its own frame.
        roundness: Radius [m] of the ball around each point of a body.
        reach: Distance of the farthest touching point of each body from its centre [m]; that of ``points`` by default.

    Returns:
        The contact points.
    """
    clusters = [split_points(own) for own in points]
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
        # Slightly larger than the exact ball, so that rounding in float32 leaves no point out.
        cluster_radius=radius * (1.0 + 1e-6) + 1e-6 * np.repeat(reach, [len(g) for g in clusters]),
        point_starts=accumulate_offsets([len(cluster) for cluster in flat]),
        points=np.concatenate(flat),
    )


def split_points(points: Points) -> list[Points]:
    """Return clusters of at most CLUSTER points; deterministic."""
    if len(points) <= CLUSTER:
        return [points]
    axis = int(np.ptp(points, axis=0).argmax())
    order = np.argsort(points[:, axis], kind="stable")
    half = -(-len(points) // (2 * CLUSTER)) * CLUSTER
    return split_points(points[order[:half]]) + split_points(points[order[half:]])


def accumulate_offsets(counts: Sequence[int]) -> NDArray[np.int32]:
    """Return 0 and the running sums of some counts.

    Args:
        counts: Numbers of entries.

    Returns:
        Offsets (len(counts) + 1,).
    """
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)


@dataclass(frozen=True)
class BodyShape:
    """Shape of a body in its own frame.

    Args:
        kind: "box", "sphere", "capsule" or "mesh".
        dims: Half edges of a box, radius of a sphere, radius and half length of a capsule's axis along y [m]; () for a
            mesh.
        vertices: Vertices (V, 3) [m].
        faces: Faces (F, 3), closed and looking outwards.
        roundness: Radius of the balls around its contact points [m].
        grid: Cells of a mesh's distance grid along its longest side.
    """

    kind: str
    dims: tuple[float, ...]
    vertices: Points
    faces: Faces
    roundness: float = 0.0
    grid: int = 32


def build_shape_arrays(solids: Sequence[BodyShape], margin: float = 0.0) -> ShapeArrays:
    """Return shapes as arrays for the kernels. Bodies with equal meshes share one grid of distances.

    Args:
        solids: Shape of each body.
        margin: Least distance outside the meshes up to which distances are needed [m]; the balls' radius if larger.

    Returns:
        The arrays.
    """
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
    boxes = [compute_bounds(solid) for solid in solids]
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


def compute_bounds(solid: BodyShape) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the box around a shape, enlarged by a millionth against rounding."""
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
    """Return the points whose balls make up a round shape, and their radius.

    A sphere has its centre, a capsule points along its axis, half a radius apart.

    Args:
        kind: "sphere" or "capsule".
        dims: Sizes as in BodyShape.

    Returns:
        Points (n, 3) [m] and radius [m].
    """
    if kind == "sphere":
        return np.zeros((1, 3)), dims[0]
    radius, half = dims
    points = np.zeros((1 + max(1, math.ceil(4.0 * half / radius)), 3))
    points[:, 1] = np.linspace(-half, half, len(points))
    return points, radius


def read_spacing(table: Mapping[str, Any], vertices: Points) -> float:
    """Return the largest distance between the contact points of a shape, from its table.

    By default it is 0.36 of the shape's longest side.

    Args:
        table: Table of the shape, with the key ``spacing`` [m] or without.
        vertices: Vertices (V, 3) [m].

    Returns:
        Spacing [m].

    Raises:
        InputError: The spacing is not positive.
    """
    spacing = table.get("spacing", 0.36 * float(np.ptp(vertices, axis=0).max()))
    if not isinstance(spacing, (int, float)) or not spacing > 0.0:
        raise InputError(f"spacing: got {spacing!r}; expected a positive length")
    return float(spacing)


def read_rounding(table: Mapping[str, Any], kind: str, dims: Sequence[float]) -> float:
    """Return the radius of a box's edges and corners, from its table.

    Args:
        table: Table of the shape, with the key ``rounding`` [m] or without.
        kind: Kind of the shape.
        dims: Sizes as in BodyShape.

    Returns:
        Radius [m]; 0 by default.

    Raises:
        InputError: The shape is no box, or the radius is too large.
    """
    rounding = table.get("rounding", 0.0)
    if rounding == 0.0:
        return 0.0
    if kind != "box":
        raise InputError(f"rounding: got {rounding!r} for a {table.get('shape', 'mesh')}; expected it for a box alone: "
                         "leave it out, or give a mesh with round edges")  # fmt: skip
    if not isinstance(rounding, (int, float)) or not 0.0 < rounding < min(dims):
        raise InputError(f"rounding: got {rounding!r}; expected a radius from 0 to less than half the shortest edge, "
                         f"{min(dims):g} m")  # fmt: skip
    return float(rounding)


def round_up_to_power_of_two(n: int) -> int:
    """Return the smallest power of two that is at least n.

    Args:
        n: A number.

    Returns:
        The power of two.
    """
    return 1 << max(n - 1, 1).bit_length()


def find_corner_slots(faces: NDArray[np.integer[Any]], particles: int) -> NDArray[np.int32]:
    """Return the rows that belong to each vertex in arrays with one row per corner of a face.

    Args:
        faces: Corners (faces, 3).
        particles: Number of vertices.

    Returns:
        slots, int32: vertex i has the rows 3 face + corner in ``slots[slots[i]:slots[i + 1]]``.
    """
    starts = np.concatenate([[0], np.cumsum(np.bincount(faces.ravel(), minlength=particles))])
    rows = np.argsort(faces.ravel(), kind="stable")
    return np.concatenate([starts + particles + 1, rows]).astype(np.int32)
