"""Little balls that make particles visible."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor


def ball_mesh() -> tuple[Tensor, Tensor]:
    """A unit ball of 42 vertices and 80 outward faces: an icosahedron, each face split in four."""
    g = (1.0 + 5.0**0.5) / 2.0
    corners = [(-1, g, 0), (1, g, 0), (-1, -g, 0), (1, -g, 0), (0, -1, g), (0, 1, g), (0, -1, -g), (0, 1, -g),
               (g, 0, -1), (g, 0, 1), (-g, 0, -1), (-g, 0, 1)]  # fmt: skip
    faces = [(0, 11, 5), (0, 5, 1), (0, 1, 7), (0, 7, 10), (0, 10, 11), (1, 5, 9), (5, 11, 4), (11, 10, 2),
             (10, 7, 6), (7, 1, 8), (3, 9, 4), (3, 4, 2), (3, 2, 6), (3, 6, 8), (3, 8, 9), (4, 9, 5), (2, 4, 11),
             (6, 2, 10), (8, 6, 7), (9, 8, 1)]  # fmt: skip
    points = [np.array(c, dtype=np.float64) for c in corners]
    middles: dict[tuple[int, int], int] = {}

    def middle(a: int, b: int) -> int:
        key = (min(a, b), max(a, b))
        if key not in middles:
            middles[key] = len(points)
            points.append(0.5 * (points[a] + points[b]))
        return middles[key]

    split = []
    for a, b, c in faces:
        ab, bc, ca = middle(a, b), middle(b, c), middle(c, a)
        split += [(a, ab, ca), (b, bc, ab), (c, ca, bc), (ab, bc, ca)]
    unit = np.array([p / np.linalg.norm(p) for p in points])
    return torch.from_numpy(unit), torch.tensor(split, dtype=torch.int64)


def balls(centres: Tensor, radius: float) -> tuple[Tensor, Tensor]:
    """Vertices (frames, n * 42, 3) and faces (n * 80, 3) of balls around centres (frames, n, 3)."""
    unit, faces = ball_mesh()
    frames, count, _ = centres.shape
    vertices = centres[:, :, None, :] + radius * unit.to(centres.dtype)
    offsets = torch.arange(count)[:, None, None] * len(unit)
    return vertices.reshape(frames, -1, 3), (faces[None] + offsets).reshape(-1, 3)
