"""Poses of bodies in PyTorch: quaternions (w, x, y, z) to matrices, and vertices into the world."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor


def unit_quaternions(orientation: Tensor) -> Tensor:
    """(..., 4) scaled to length 1, differentiable."""
    return torch.nn.functional.normalize(orientation, dim=-1)


def rotation_matrices(orientation: Tensor) -> Tensor:
    """(..., 3, 3) of unit quaternions (..., 4)."""
    w, x, y, z = orientation.unbind(-1)
    rows = (
        (w * w + x * x - y * y - z * z, 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)),
        (2.0 * (x * y + w * z), w * w - x * x + y * y - z * z, 2.0 * (y * z - w * x)),
        (2.0 * (x * z - w * y), 2.0 * (y * z + w * x), w * w - x * x - y * y + z * z),
    )
    return torch.stack([torch.stack(row, dim=-1) for row in rows], dim=-2)


def world_vertices(q: Tensor, vertices: Sequence[Tensor]) -> Tensor:
    """(frames, all vertices, 3) [m] of bodies with poses q (frames, bodies, 7) and own vertices (V, 3) each."""
    turns = rotation_matrices(q[..., 3:])
    moved = [q[:, i, None, :3] + own @ turns[:, i].transpose(-1, -2) for i, own in enumerate(vertices)]
    return torch.cat(moved, dim=1)
