"""Sums and broadcasts whose bits do not depend on the number of threads.

PyTorch splits large sums among its threads, so the order of additions depends on their number. That changes the last
bits of a loss, and eventually the path of a fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from diffloom.errors import InputError
from diffloom.transforms import has_tangents, is_transforming, needs_gradient

__all__ = ["broadcast", "broadcast_read_only", "move_scenes_first", "ordered_mean", "ordered_sum"]


class _OrderedSum(torch.autograd.Function):
    """Sum over all axes but the first ``kept``."""

    @staticmethod
    def forward(ctx: Any, value: Tensor, kept: int) -> Tensor:
        """Sum by NumPy, in a fixed order."""
        ctx.shape, ctx.kept = value.shape, kept
        array = value.detach().contiguous().numpy()
        return torch.from_numpy(array.reshape(*array.shape[:kept], -1).sum(axis=-1, keepdims=True))[..., 0]

    @staticmethod
    def backward(ctx: Any, adj: Tensor) -> tuple[Tensor, None]:
        """Return the expanded cotangent."""
        return adj.reshape(*adj.shape, *[1] * (len(ctx.shape) - ctx.kept)).expand(ctx.shape), None


def ordered_sum(value: Tensor, kept: int = 0) -> Tensor:
    """Return the sum over all axes but the first ``kept``, differentiable.

    Args:
        value: Tensor of floats.
        kept: Number of leading axes to keep.

    Returns:
        Tensor of the first ``kept`` axes.
    """
    if value.device.type != "cpu":
        return value.reshape(*value.shape[:kept], -1).sum(-1)
    made: Tensor = _OrderedSum.apply(value, kept)  # type: ignore[no-untyped-call]
    return made


def ordered_mean(value: Tensor) -> Tensor:
    """Return the mean of all numbers, differentiable.

    Args:
        value: Tensor of floats.

    Returns:
        Scalar tensor.
    """
    return ordered_sum(value) / value.numel()


class _Broadcast(torch.autograd.Function):
    """Broadcast under transforms."""

    @staticmethod
    def forward(value: Tensor, shape: tuple[int, ...]) -> Tensor:
        """Return an expanded copy."""
        return _copies(value, shape)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, tuple[int, ...]], output: Tensor) -> None:
        """Keep the shape of the input."""
        ctx.source = inputs[0].shape

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, None], value: Tensor, shape: tuple[int, ...]) -> tuple[Tensor, int]:
        """Broadcast scene by scene, so that the gradient is never summed over scenes."""
        scenes = move_scenes_first(value, in_dims[0], info.batch_size)
        rows = scenes.reshape(len(scenes), *[1] * (len(shape) + 1 - scenes.dim()), *scenes.shape[1:])
        return broadcast(rows, (len(rows), *shape)), 0

    @staticmethod
    def backward(ctx: Any, adj: Tensor) -> tuple[Tensor, None]:
        """Return the cotangent summed over the copies."""
        return _SumToShape.apply(adj, tuple(ctx.source)), None  # type: ignore[no-untyped-call]


class _BroadcastAlone(torch.autograd.Function):
    """Broadcast outside of transforms, because PyTorch is much faster for functions without ``vmap``."""

    @staticmethod
    def forward(ctx: Any, value: Tensor, shape: tuple[int, ...]) -> Tensor:
        """Return an expanded copy."""
        ctx.source = value.shape
        return _copies(value, shape)

    @staticmethod
    def backward(ctx: Any, adj: Tensor) -> tuple[Tensor, None]:
        """Return the cotangent summed over the copies."""
        return _SumToShape.apply(adj, tuple(ctx.source)), None  # type: ignore[no-untyped-call]


class _SumToShape(torch.autograd.Function):
    """Adjoint of broadcasting, as a differentiable operation of its own."""

    @staticmethod
    def forward(ctx: Any, adj: Tensor, shape: tuple[int, ...]) -> Tensor:
        """Return the sum over the copies."""
        ctx.source = adj.shape
        return _sum_to(adj, shape)

    @staticmethod
    def backward(ctx: Any, adj: Tensor) -> tuple[Tensor, None]:
        """Return the broadcast cotangent."""
        return broadcast(adj, tuple(ctx.source)), None


def _copies(value: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Return an expanded copy."""
    return value.expand(shape).clone(memory_format=torch.contiguous_format)


def _sum_to(adj: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Return ``adj`` summed over its broadcast axes, by NumPy, which adds in a fixed order."""
    extra = adj.dim() - len(shape)
    axes = tuple(range(extra)) + tuple(extra + k for k, n in enumerate(shape) if n == 1 and adj.shape[extra + k] != 1)
    if not axes:
        return adj.reshape(shape)
    if adj.device.type == "cpu":
        total = torch.from_numpy(adj.detach().contiguous().numpy().sum(axis=axes, keepdims=True))
    else:
        total = adj.sum(dim=axes, keepdim=True)
    return total.reshape(shape)


def broadcast_read_only(value: Tensor, shape: Sequence[int]) -> Tensor:
    """Return ``value`` expanded to ``shape``; ``value`` itself if it has that shape, so callers must not write to the
    result.

    Args:
        value: Tensor.
        shape: Shape that ``value`` broadcasts to.

    Returns:
        Tensor of that shape.
    """
    return value if value.shape == tuple(shape) else broadcast(value, shape)


def broadcast(value: Tensor, shape: Sequence[int]) -> Tensor:
    """Return ``value`` expanded to ``shape`` in memory of its own, differentiable.

    The gradient of a shared value is the sum over its copies in an order that does not depend on the number of threads,
    so gradients are reproducible bit for bit.

    Args:
        value: Tensor.
        shape: Shape that ``value`` broadcasts to.

    Returns:
        Contiguous tensor of that shape.

    Raises:
        InputError: ``value`` does not broadcast to ``shape``.
    """
    try:
        # PyTorch's own expansion carries tangents; the functions below have a backward pass alone.
        if has_tangents((value,)) or not (needs_gradient(value) and torch.is_grad_enabled()):
            return _copies(value, tuple(shape))
        made = _Broadcast if is_transforming() else _BroadcastAlone
        result: Tensor = made.apply(value, tuple(shape))  # type: ignore[no-untyped-call]
    except RuntimeError as cause:
        raise InputError(f"cannot expand shape {tuple(value.shape)} to {tuple(shape)}") from cause
    return result


def move_scenes_first(value: Tensor, dim: int | None, count: int) -> Tensor:
    """Return an argument of a ``vmap`` rule with its scenes in the first axis.

    Args:
        value: Tensor given to the rule.
        dim: Axis of the scenes; None for a shared value, which is repeated, with its gradient summed in a fixed order.
        count: Number of scenes.

    Returns:
        Tensor (scenes, ...).
    """
    if dim is None:
        return broadcast(value, (count, *value.shape))
    return value.movedim(dim, 0)
