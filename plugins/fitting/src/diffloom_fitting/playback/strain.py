"""How far a surface is stretched: of any model, from its vertices alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

#: From a small to a large strain: dark blue, green, yellow.
MAP = np.array([[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]], dtype=np.float64)


def strain(rest: NDArray[np.float32], now: NDArray[np.float32], faces: NDArray[np.int64]) -> NDArray[np.float64]:
    """(vertices,): the largest |principal stretch - 1| of the faces around each vertex, their mean.

    rest, now: (vertices, 3) [m]. With the edges of a face at rest as a 2 x 2 matrix D in its plane and those now as a
    3 x 2 matrix E, F = E D^-1 and the stretches are the singular values of F.
    """
    first, second = (rest[faces[:, k]].astype(np.float64) - rest[faces[:, 0]] for k in (1, 2))
    along = first / np.maximum(np.linalg.norm(first, axis=1, keepdims=True), 1e-300)
    normal = np.cross(first, second)
    across = np.cross(normal / np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-300), along)
    planar = np.stack([np.stack([(e * a).sum(1) for e in (first, second)], 1) for a in (along, across)], 1)
    edges = np.stack([now[faces[:, k]].astype(np.float64) - now[faces[:, 0]] for k in (1, 2)], 2)
    flat = np.abs(np.linalg.det(planar)) > 1e-18
    found = np.zeros(len(faces))
    if flat.any():
        stretch = np.linalg.svd(edges[flat] @ np.linalg.inv(planar[flat]), compute_uv=False)
        found[flat] = np.abs(stretch - 1.0).max(axis=1)
    total, count = np.zeros(len(rest)), np.zeros(len(rest))
    for k in range(3):
        np.add.at(total, faces[:, k], found)
        np.add.at(count, faces[:, k], 1.0)
    return np.asarray(total / np.maximum(count, 1.0))


def strain_colours(values: NDArray[np.float64], most: float) -> NDArray[np.uint8]:
    """(vertices, 3) bytes: dark for none, yellow for ``most`` and above."""
    part = np.clip(values / max(most, 1e-12), 0.0, 1.0) * (len(MAP) - 1)
    low = np.minimum(part.astype(int), len(MAP) - 2)
    mixed = MAP[low] + (part - low)[:, None] * (MAP[low + 1] - MAP[low])
    return np.asarray(mixed.round(), dtype=np.uint8)
