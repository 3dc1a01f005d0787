"""How far a surface is stretched: of any model, from its vertices alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

#: From a small to a large value: dark blue, green, yellow.
MAP = np.array([[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]], dtype=np.float64)
NONE = 150.0  # grey, for what has no value


def strain(rest: NDArray[np.float32], now: NDArray[np.float32], faces: NDArray[np.int64]) -> NDArray[np.float64]:
    """(..., vertices): the largest |principal stretch - 1| of the faces around each vertex, their mean.

    rest: (vertices, 3), now: (..., vertices, 3) [m]. With the edges of a face at rest as a 2 x 2 matrix D in its plane
    and those now as a 3 x 2 matrix E, F = E D^-1; the squares of the stretches are the eigenvalues of F^T F.
    """
    first, second = (rest[faces[:, k]].astype(np.float64) - rest[faces[:, 0]] for k in (1, 2))
    along = first / np.maximum(np.linalg.norm(first, axis=1, keepdims=True), 1e-300)
    normal = np.cross(first, second)
    across = np.cross(normal / np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-300), along)
    planar = np.stack([np.stack([(e * a).sum(1) for e in (first, second)], 1) for a in (along, across)], 1)
    flat = np.abs(np.linalg.det(planar)) > 1e-18
    inverse = np.zeros_like(planar)
    inverse[flat] = np.linalg.inv(planar[flat])
    one, other = (now[..., faces[:, k], :].astype(np.float64) - now[..., faces[:, 0], :] for k in (1, 2))
    found = np.where(flat, _largest_stretch(one, other, inverse), 0.0)
    around = np.bincount(faces.ravel(), minlength=len(rest))
    each = [np.bincount(faces.ravel(), np.repeat(row, 3), len(rest)) for row in found.reshape(-1, len(faces))]
    return np.reshape(each, (*now.shape[:-2], len(rest))) / np.maximum(around, 1)


def _largest_stretch(
    first: NDArray[np.float64], second: NDArray[np.float64], inverse: NDArray[np.float64]
) -> NDArray[np.float64]:
    """(..., faces): |stretch - 1|, the larger of both, of edges (..., faces, 3) now and D^-1 (faces, 2, 2)."""
    u, v = (first * inverse[:, 0, k, None] + second * inverse[:, 1, k, None] for k in (0, 1))
    uu, vv, uv = (u * u).sum(axis=-1), (v * v).sum(axis=-1), (u * v).sum(axis=-1)
    mean, apart = 0.5 * (uu + vv), np.sqrt(0.25 * (uu - vv) ** 2 + uv**2)
    large, small = np.sqrt(mean + apart), np.sqrt(np.maximum(mean - apart, 0.0))
    return np.asarray(np.maximum(np.abs(large - 1.0), np.abs(small - 1.0)))


def scale_colours(values: NDArray[np.float64], most: float) -> NDArray[np.uint8]:
    """(vertices, 3) bytes: dark for 0, yellow for ``most`` and above, grey where there is no value."""
    known = np.isfinite(values)
    part = np.clip(np.where(known, values, 0.0) / max(most, 1e-12), 0.0, 1.0) * (len(MAP) - 1)
    low = np.minimum(part.astype(int), len(MAP) - 2)
    mixed = MAP[low] + (part - low)[:, None] * (MAP[low + 1] - MAP[low])
    return np.asarray(np.where(known[:, None], mixed, NONE).round(), dtype=np.uint8)
