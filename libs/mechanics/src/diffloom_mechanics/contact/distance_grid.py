"""Signed distances of a closed mesh on a grid."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from diffloom_geometry import Faces, Points

MOST_NODES = 400_000
"""Most nodes of a grid; it is made coarser until it has no more."""


@dataclass(frozen=True)
class DistanceGrid:
    """Distances [m], negative inside, at origin + cell (i, j, k) for i, j, k below ``size``."""

    origin: NDArray[np.float64]
    cell: float
    size: NDArray[np.int32]
    values: NDArray[np.float64]


def distance_grid(vertices: Points, faces: Faces, cells: int, margin: float) -> DistanceGrid:
    """Return the distance grid of a mesh.

    cells: number of cells along the longest side of its bounding box. margin: distance outside the mesh [m] up to which
    values are needed; three more cells are added for the spline that reads the grid.
    """
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    cell = float((high - low).max()) / cells
    while True:
        extra = margin + 3.0 * cell
        size = np.ceil((high - low + 2.0 * extra) / cell).astype(np.int64) + 1
        if math.prod(size.tolist()) <= MOST_NODES:
            break
        cell *= 1.1
    origin = 0.5 * (low + high) - 0.5 * cell * (size - 1)
    values = np.zeros(math.prod(size.tolist()))
    fill_distances(vertices, faces, origin, cell, size.astype(np.int32), values)
    return DistanceGrid(origin, cell, size.astype(np.int32), values)


def fill_distances(
    vertices: Points,
    faces: Faces,
    origin: NDArray[np.float64],
    cell: float,
    size: NDArray[np.int32],
    values: NDArray[np.float64],
) -> None:
    """Write the signed distance of every node."""
    from diffloom_mechanics.contact.mesh_distance_kernels import PROGRAM

    corners = vertices[faces]
    centre = corners.mean(axis=1)
    radius = np.linalg.norm(corners - centre[:, None], axis=2).max(axis=1)
    normals = np.ascontiguousarray(compute_feature_normals(vertices, faces))
    flat = np.ascontiguousarray(corners.reshape(-1, 9))
    PROGRAM.run("fill", size, origin, np.array([cell]), flat, normals, centre, radius, values)


def compute_feature_normals(vertices: Points, faces: Faces) -> NDArray[np.float64]:
    """Return the normals (F, 7, 3) that tell inside from outside at a triangle's face, its corners and its edges.

    At an edge it is the sum of the normals of its two faces, at a corner the sum of its faces' normals weighted by
    their angles there. The sign at the nearest point is then right for every closed mesh (Baerentzen and Aanaes 2005).
    """
    corners = vertices[faces]
    n = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    n /= np.linalg.norm(n, axis=1, keepdims=True)
    at_corner = np.zeros_like(vertices)
    sides: dict[tuple[int, int], NDArray[np.float64]] = {}
    for k in range(3):
        to_next, to_last = corners[:, (k + 1) % 3] - corners[:, k], corners[:, (k + 2) % 3] - corners[:, k]
        cosine = np.einsum("fi,fi->f", to_next, to_last)
        cosine /= np.linalg.norm(to_next, axis=1) * np.linalg.norm(to_last, axis=1)
        np.add.at(at_corner, faces[:, k], n * np.arccos(np.clip(cosine, -1.0, 1.0))[:, None])
        for f, (a, b) in enumerate(zip(faces[:, k].tolist(), faces[:, (k + 1) % 3].tolist(), strict=True)):
            key = (min(a, b), max(a, b))
            sides[key] = sides.get(key, np.zeros(3)) + n[f]
    edges = [[sides[min(a, b), max(a, b)] for a, b in ((x, y), (y, z), (z, x))] for x, y, z in faces.tolist()]
    return np.concatenate([n[:, None], at_corner[faces], np.array(edges)], axis=1)
