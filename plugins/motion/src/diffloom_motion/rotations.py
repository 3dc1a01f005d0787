"""Turns as quaternions w, x, y, z and as rotation vectors, in PyTorch, differentiable."""

from __future__ import annotations

import torch
from torch import Tensor

SMALL = 1e-12


def product(a: Tensor, b: Tensor) -> Tensor:
    """(..., 4): first b, then a."""
    w, x, y, z = a.unbind(-1)
    s, i, j, k = b.unbind(-1)
    parts = (
        w * s - x * i - y * j - z * k,
        w * i + x * s + y * k - z * j,
        w * j - x * k + y * s + z * i,
        w * k + x * j - y * i + z * s,
    )
    return torch.stack(parts, dim=-1)


def inverse(turn: Tensor) -> Tensor:
    """(..., 4) of unit quaternions."""
    return turn * turn.new_tensor([1.0, -1.0, -1.0, -1.0])


def rotated(turn: Tensor, vector: Tensor) -> Tensor:
    """Vectors (..., 3) turned by unit quaternions (..., 4)."""
    axis, w = turn[..., 1:], turn[..., :1]
    axis, vector = torch.broadcast_tensors(axis, vector)
    once = torch.linalg.cross(axis, vector)
    turned: Tensor = vector + 2.0 * (w * once + torch.linalg.cross(axis, once))
    return turned


def from_vector(vector: Tensor) -> Tensor:
    """Unit quaternions (..., 4) of rotation vectors (..., 3): axis times angle [rad]."""
    half = 0.5 * (vector.square().sum(dim=-1, keepdim=True) + SMALL**2).sqrt()
    return torch.cat([half.cos(), 0.5 * vector * torch.sinc(half / torch.pi)], dim=-1)


def to_vector(turn: Tensor) -> Tensor:
    """Rotation vectors (..., 3) [rad], at most pi long, of unit quaternions (..., 4); q and -q are the same turn."""
    turn = torch.where(turn[..., :1] < 0.0, -turn, turn)
    axis, w = turn[..., 1:], turn[..., :1]
    sine = (axis.square().sum(dim=-1, keepdim=True) + SMALL**2).sqrt()
    return axis * (2.0 * torch.atan2(sine, w) / sine)


def between(found: Tensor, wanted: Tensor) -> Tensor:
    """Rotation vectors (..., 3) [rad], in world axes, that lead from the orientations ``wanted`` to ``found``."""
    return to_vector(product(found, inverse(wanted)))
