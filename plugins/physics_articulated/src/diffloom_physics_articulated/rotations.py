"""Turns and symmetric matrices in PyTorch."""

from __future__ import annotations

import torch
from torch import Tensor

ORDER = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
"""Places of the six numbers of a symmetric matrix: xx, yy, zz, xy, xz, yz."""


def six(matrix: Tensor) -> Tensor:
    """The six numbers (..., 6) of symmetric matrices (..., 3, 3)."""
    return torch.stack([matrix[..., a, b] for a, b in ORDER], dim=-1)


def symmetric(numbers: Tensor) -> Tensor:
    """Symmetric matrices (..., 3, 3) of six numbers (..., 6) each."""
    xx, yy, zz, xy, xz, yz = numbers.unbind(-1)
    rows = [torch.stack(row, dim=-1) for row in ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))]
    return torch.stack(rows, dim=-2)


def unit_quaternions(orientation: Tensor) -> Tensor:
    """(..., 4) scaled to length 1, differentiable."""
    return torch.nn.functional.normalize(orientation, dim=-1)


def rotation_matrices(orientation: Tensor) -> Tensor:
    """(..., 3, 3) of unit quaternions (..., 4), w, x, y, z."""
    w, v = orientation[..., :1, None], orientation[..., 1:, None]
    one = torch.eye(3, dtype=orientation.dtype)
    x, y, z = orientation[..., 1:].unbind(-1)
    zero = torch.zeros_like(x)
    cross = torch.stack([zero, -z, y, z, zero, -x, -y, x, zero], dim=-1).unflatten(-1, (3, 3))
    turned = (w * w - (v * v).sum(-2, keepdim=True)) * one + 2.0 * (v @ v.transpose(-1, -2) + w * cross)
    return torch.as_tensor(turned)
