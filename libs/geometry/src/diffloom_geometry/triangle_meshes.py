"""Triangle meshes: checks whose messages name vertices and faces, edges, and points at a given spacing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from diffloom.errors import InputError

Points = NDArray[np.float64]
Faces = NDArray[np.int64]

FLATTEST = 1e-10
"""Faces whose area is below this fraction of their longest edge squared count as degenerate."""


def list_indices(indices: Sequence[int] | NDArray[np.int64], limit: int = 5) -> str:
    """Return a list such as ``"3, 7, 12"``, cut short after ``limit`` entries."""
    shown = ", ".join(str(int(i)) for i in indices[:limit])
    return shown + (f" and {len(indices) - limit} more" if len(indices) > limit else "")


def as_triangles(what: str, vertices: ArrayLike, faces: ArrayLike) -> tuple[Points, Faces]:
    """Return vertices (V, 3) as float64 and faces (F, 3) as int64; raise InputError on wrong shapes or indices and
    NaNs.
    """
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
        raise InputError(f"{what}: vertices {list_indices(bad)} are not finite (vertex {bad[0]} is "
                         f"{points[bad[0]].tolist()}); remove or repair them")  # fmt: skip
    outside = np.flatnonzero(((corners < 0) | (corners >= len(points))).any(axis=1))
    if outside.size:
        raise InputError(f"{what}: faces {list_indices(outside)} name vertices that do not exist (face {outside[0]} is "
                         f"{corners[outside[0]].tolist()}); expected 0 to {len(points) - 1}")  # fmt: skip
    return points, corners.astype(np.int64)


def check_degenerate(what: str, vertices: Points, faces: Faces) -> None:
    """Raise InputError when a face names a vertex twice or has no area."""
    a, b, c = faces.T
    twice = np.flatnonzero((a == b) | (b == c) | (c == a))
    if twice.size:
        raise InputError(f"{what}: faces {list_indices(twice)} name a vertex twice (face {twice[0]} is "
                         f"{faces[twice[0]].tolist()}); remove them")  # fmt: skip
    edges = vertices[faces[:, [1, 2, 0]]] - vertices[faces]
    area = 0.5 * np.linalg.norm(np.cross(edges[:, 0], edges[:, 1]), axis=1)
    longest = np.square(edges).sum(axis=2).max(axis=1)
    thin = np.flatnonzero(area <= FLATTEST * longest)
    if thin.size:
        raise InputError(f"{what}: faces {list_indices(thin)} are degenerate, their corners lie on one line (face "
                         f"{thin[0]} has area {area[thin[0]]:.3g} m^2); remove them or merge close "
                         "vertices")  # fmt: skip


def check_duplicates(what: str, faces: Faces) -> None:
    """Raise InputError when two faces join the same three vertices in any order."""
    _, first, inverse = np.unique(np.sort(faces, axis=1), axis=0, return_index=True, return_inverse=True)
    repeated = np.flatnonzero(first[inverse.reshape(-1)] != np.arange(len(faces)))
    if repeated.size:
        pairs = [f"{first[inverse.reshape(-1)[f]]} and {f}" for f in repeated[:5]]
        raise InputError(f"{what}: faces {'; '.join(pairs)} join the same three vertices; keep one of each")


def check_used(what: str, vertices: Points, faces: Faces) -> None:
    """Raise InputError when a vertex belongs to no face, because it would have no mass."""
    loose = np.setdiff1d(np.arange(len(vertices)), faces)
    if loose.size:
        raise InputError(f"{what}: vertices {list_indices(loose)} belong to no face; remove them "
                         "(trimesh: mesh.remove_unreferenced_vertices())")  # fmt: skip


def check_triangles(what: str, vertices: ArrayLike, faces: ArrayLike) -> tuple[Points, Faces]:
    """Check a triangle mesh: shapes, indices, degenerate and repeated faces, unused vertices.

    Manifoldness is checked by ``find_edges``.

    Args:
        what: Name of the mesh in messages.
        vertices: Vertices (V, 3) [m].
        faces: Vertex indices (F, 3).

    Returns:
        Vertices (V, 3) as float64 and faces (F, 3) as int64.

    Raises:
        InputError: A check fails; the message names the first vertices or faces.
    """
    points, corners = as_triangles(what, vertices, faces)
    check_degenerate(what, points, corners)
    check_duplicates(what, corners)
    check_used(what, points, corners)
    return points, corners


@dataclass(frozen=True)
class Edges:
    """Edges of a mesh, each listed once, in the order of their vertex pairs.

    Args:
        hinges: Vertices (hinges, 4) of interior edges: x0 and x1 on the edge, x2 opposite it in the first face, x3 in
            the second. The first face runs through the edge from x0 to x1.
        hinge_faces: First and second face (hinges, 2) of each hinge.
        boundary: Vertices (boundary edges, 2) of edges with one face.
        flipped: Numbers of hinges whose two faces run through the edge in the same direction, so that their sides
            disagree.
    """

    hinges: NDArray[np.int64]
    hinge_faces: NDArray[np.int64]
    boundary: NDArray[np.int64]
    flipped: NDArray[np.int64]

    @property
    def pairs(self) -> NDArray[np.int64]:
        """Vertices (edges, 2) of all edges, smaller index first, sorted."""
        both = np.sort(np.concatenate([self.hinges[:, :2], self.boundary]), axis=1)
        return both[np.lexsort((both[:, 1], both[:, 0]))]


def find_edges(what: str, faces: Faces) -> Edges:
    """Find the edges of a triangle mesh.

    Args:
        what: Name of the mesh in messages.
        faces: Vertex indices (F, 3).

    Returns:
        The edges.

    Raises:
        InputError: More than two faces share an edge.
    """
    count = len(faces)
    start = faces.reshape(-1)
    end = faces[:, [1, 2, 0]].reshape(-1)
    opposite = faces[:, [2, 0, 1]].reshape(-1)
    owner = np.repeat(np.arange(count), 3)
    low, high = np.minimum(start, end), np.maximum(start, end)
    order = np.lexsort((owner, high, low))
    low, high = low[order], high[order]
    first = np.flatnonzero(np.concatenate([[True], (low[1:] != low[:-1]) | (high[1:] != high[:-1])]))
    times = np.diff(np.append(first, len(low)))
    check_manifold(what, low, high, owner[order], first, times)
    one, two = order[first[times == 2]], order[first[times == 2] + 1]
    alone = order[first[times == 1]]
    return Edges(
        hinges=np.stack([start[one], end[one], opposite[one], opposite[two]], axis=1),
        hinge_faces=np.stack([owner[one], owner[two]], axis=1),
        boundary=np.stack([start[alone], end[alone]], axis=1),
        flipped=np.flatnonzero(start[one] == start[two]),
    )


def check_manifold(
    what: str,
    low: NDArray[np.int64],
    high: NDArray[np.int64],
    owner: NDArray[np.int64],
    first: NDArray[np.int64],
    times: NDArray[np.int64],
) -> None:
    """Raise InputError when an edge has three faces or more. Half-edges come sorted by their vertices."""
    crowded = np.flatnonzero(times > 2)
    if not crowded.size:
        return
    texts = []
    for group in crowded[:5]:
        at = first[group]
        around = ", ".join(str(f) for f in owner[at : at + times[group]])
        texts.append(f"edge {low[at]}-{high[at]} (faces {around})")
    more = f" and {crowded.size - 5} more" if crowded.size > 5 else ""
    raise InputError(
        f"{what}: the mesh is not manifold: {'; '.join(texts)}{more} shared by more than two faces; "
        "split the mesh there or remove the extra faces"
    )


def sample_surface(vertices: Points, faces: Faces, spacing: float) -> Points:
    """Return points on a surface that are at most ``spacing`` apart, its vertices included.

    The longest edges of triangles are halved until all are short enough. Vertices alone would miss two equal boxes laid
    crosswise on each other, because neither has a corner in the other one.

    Args:
        vertices: Vertices (V, 3) [m].
        faces: Vertex indices (F, 3).
        spacing: Largest distance between neighbours [m].

    Returns:
        Points (P, 3) [m], the vertices first.
    """
    points = [vertices]
    triangles = vertices[faces]
    while len(triangles):
        edges = np.linalg.norm(triangles[:, [1, 2, 0]] - triangles, axis=2)
        long = edges.max(axis=1) > spacing
        first = edges[long].argmax(axis=1)
        turned = triangles[long][np.arange(len(first))[:, None], (first[:, None] + np.arange(3)) % 3]
        middle = 0.5 * (turned[:, 0] + turned[:, 1])
        points.append(middle)
        halves = ([turned[:, 0], middle, turned[:, 2]], [middle, turned[:, 1], turned[:, 2]])
        triangles = np.concatenate([np.stack(half, axis=1) for half in halves])
    every = np.concatenate(points)
    grain = 1e-9 * float(np.ptp(vertices, axis=0).max())
    _, kept = np.unique((every / grain).round(), axis=0, return_index=True)
    return every[np.sort(kept)]
