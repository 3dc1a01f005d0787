"""Sums whose order does not depend on the number of threads, so that every bit is the same whatever the machine runs.

PyTorch splits large sums among its threads. With another number of them the parts are added in another order, which
changes the last bits of a loss, and in the long run the way of a fit.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


class _Sum(torch.autograd.Function):
    """Over all axes but the first ``kept``."""

    @staticmethod
    def forward(ctx: Any, value: Tensor, kept: int) -> Tensor:
        ctx.shape, ctx.kept = value.shape, kept
        array = value.detach().contiguous().numpy()
        return torch.from_numpy(array.reshape(*array.shape[:kept], -1).sum(axis=-1, keepdims=True))[..., 0]

    @staticmethod
    def backward(ctx: Any, adj: Tensor) -> tuple[Tensor, None]:
        return adj.reshape(*adj.shape, *[1] * (len(ctx.shape) - ctx.kept)).expand(ctx.shape), None


def ordered_sum(value: Tensor, kept: int = 0) -> Tensor:
    """The sum over all axes but the first ``kept``, differentiable."""
    if value.device.type != "cpu":
        return value.reshape(*value.shape[:kept], -1).sum(-1)
    made: Tensor = _Sum.apply(value, kept)  # type: ignore[no-untyped-call]
    return made


def ordered_mean(value: Tensor) -> Tensor:
    """The mean of all numbers, differentiable."""
    return ordered_sum(value) / value.numel()
