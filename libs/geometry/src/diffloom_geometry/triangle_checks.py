"""What a triangle mesh must satisfy before anybody computes with it. Every complaint names vertices and faces."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from diffloom.errors import InputError

Points = NDArray[np.float64]
Faces = NDArray[np.int64]

FLATTEST = 1e-10
"""Faces whose area is below this fraction of their longest edge squared count as degenerate."""


def named(indices: Sequence[int] | NDArray[np.int64], limit: int = 5) -> str:
    """``"3, 7, 12"``, cut short after ``limit`` entries."""
    shown = ", ".join(str(int(i)) for i in indices[:limit])
    return shown + (f" and {len(indices) - limit} more" if len(indices) > limit else "")


def as_triangles(what: str, vertices: ArrayLike, faces: ArrayLike) -> tuple[Points, Faces]:
    """Vertices (V, 3) as float64 and faces (F, 3) as int64, or InputError about their shapes, NaNs and indices."""
    points = np.array(vertices, dtype=np.float64)
    corners = np.array(faces)
    if points.ndim != 2 or points.shape[1] != 3:
        raise InputError(f"{what}: vertices have shape {points.shape}; expected (vertices, 3)")
    if corners.ndim != 2 or corners.shape[1] != 3 or corners.shape[0] == 0:
        raise InputError(f"{what}: faces have shape {corners.shape}; expected (faces, 3) with at least one face")
    if not np.issubdtype(corners.dtype, np.integer):
        raise InputError(f"{what}: faces are {corners.dtype}; expected whole numbers, indices of vertices")
    bad = np.flatnonzero(~np.isfinite(points).all(axis=1))
    if bad.size:
        raise InputError(f"{what}: vertices {named(bad)} are not finite (vertex {bad[0]} is {points[bad[0]].tolist()});"
                         " remove or repair them")  # fmt: skip
    outside = np.flatnonzero(((corners < 0) | (corners >= len(points))).any(axis=1))
    if outside.size:
        raise InputError(f"{what}: faces {named(outside)} name vertices that do not exist (face {outside[0]} is "
                         f"{corners[outside[0]].tolist()}); expected 0 to {len(points) - 1}")  # fmt: skip
    return points, corners.astype(np.int64)


def check_degenerate(what: str, vertices: Points, faces: Faces) -> None:
    """InputError when a face names a vertex twice or has no area."""
    a, b, c = faces.T
    twice = np.flatnonzero((a == b) | (b == c) | (c == a))
    if twice.size:
        raise InputError(f"{what}: faces {named(twice)} name a vertex twice (face {twice[0]} is "
                         f"{faces[twice[0]].tolist()}); remove them")  # fmt: skip
    edges = vertices[faces[:, [1, 2, 0]]] - vertices[faces]
    area = 0.5 * np.linalg.norm(np.cross(edges[:, 0], edges[:, 1]), axis=1)
    longest = np.square(edges).sum(axis=2).max(axis=1)
    thin = np.flatnonzero(area <= FLATTEST * longest)
    if thin.size:
        raise InputError(f"{what}: faces {named(thin)} are degenerate, their corners lie on one line (face {thin[0]} "
                         f"has area {area[thin[0]]:.3g} m^2); remove them or merge close vertices")  # fmt: skip


def check_duplicates(what: str, faces: Faces) -> None:
    """InputError when two faces join the same three vertices, in whatever order."""
    _, first, inverse = np.unique(np.sort(faces, axis=1), axis=0, return_index=True, return_inverse=True)
    repeated = np.flatnonzero(first[inverse.reshape(-1)] != np.arange(len(faces)))
    if repeated.size:
        pairs = [f"{first[inverse.reshape(-1)[f]]} and {f}" for f in repeated[:5]]
        raise InputError(f"{what}: faces {'; '.join(pairs)} join the same three vertices; keep one of each")


def check_used(what: str, vertices: Points, faces: Faces) -> None:
    """InputError when a vertex belongs to no face: it would have no mass."""
    loose = np.setdiff1d(np.arange(len(vertices)), faces)
    if loose.size:
        raise InputError(f"{what}: vertices {named(loose)} belong to no face; remove them "
                         "(trimesh: mesh.remove_unreferenced_vertices())")  # fmt: skip


def check_triangles(what: str, vertices: ArrayLike, faces: ArrayLike) -> tuple[Points, Faces]:
    """All checks in a row; returns clean arrays. Manifoldness is checked by ``triangle_edges.find_edges``."""
    points, corners = as_triangles(what, vertices, faces)
    check_degenerate(what, points, corners)
    check_duplicates(what, corners)
    check_used(what, points, corners)
    return points, corners
