"""Sums between vertices and elements, in both directions, with gradients in a fixed order.

Plain indexing has a gradient too, but PyTorch sums it in an order that depends on the number of threads.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from diffloom.fixed_order import move_scenes_first
from diffloom.transforms import is_transformed, needs_gradient

Indices = NDArray[np.int64]


def take(values: Tensor, index: Indices) -> Tensor:
    """Return ``values[index]``, with a gradient that is summed in a fixed order.

    Args:
        values: Rows (V, ...), such as vertices.
        index: Row numbers, such as the corners (E, corners) of elements.

    Returns:
        Rows (*index.shape, ...).
    """
    result: Tensor = _Take.apply(values, index)  # type: ignore[no-untyped-call]
    return result


def assemble(values: Tensor, index: Indices, count: int) -> Tensor:
    """Return rows of ``values`` summed by their index: the transpose of ``take``.

    Args:
        values: Rows (*index.shape, ...), such as forces on the corners of elements.
        index: Number of the row that each row of ``values`` is added to.
        count: Number of rows of the result.

    Returns:
        Sums (count, ...).
    """
    if not needs_gradient(values) and not is_transformed((values,)):
        return _sum_rows(values, index, count)
    result: Tensor = _Assemble.apply(values, index, count)  # type: ignore[no-untyped-call]
    return result


def _sum_rows(values: Tensor, index: Indices, count: int) -> Tensor:
    """Return rows of which row i is the sum of the rows of ``values`` with the index i, added one by one in float64."""
    rows, flat = index.reshape(-1), values.detach().cpu().numpy().reshape(index.size, -1)
    total = np.empty((count, flat.shape[1]))
    for k in range(flat.shape[1]):
        total[:, k] = np.bincount(rows, weights=flat[:, k], minlength=count)
    return torch.from_numpy(total).to(values).reshape(count, *values.shape[index.ndim :])


def _of_scenes(index: Indices, scenes: int, count: int) -> Indices:
    """Repeat ``index`` for each scene, ``count`` rows farther on each time."""
    first = (count * np.arange(scenes)).reshape(-1, *[1] * index.ndim)
    return (index + first).reshape(-1, *index.shape[1:])


class _Take(torch.autograd.Function):
    """Autograd function of ``take``."""

    @staticmethod
    def forward(values: Tensor, index: Indices) -> Tensor:
        return values[torch.from_numpy(index).to(values.device)]

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Indices], output: Tensor) -> None:
        ctx.index, ctx.count = inputs[1], inputs[0].shape[0]

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, None], values: Tensor, index: Indices) -> tuple[Tensor, int]:
        """Take the rows of all scenes at once, one scene after the other."""
        scenes = move_scenes_first(values, in_dims[0], info.batch_size)
        rows = take(scenes.flatten(0, 1), _of_scenes(index, len(scenes), scenes.shape[1]))
        return rows.unflatten(0, (len(scenes), -1)), 0

    @staticmethod
    def jvp(ctx: Any, tangent: Tensor, index: None) -> Tensor:
        """Take the rows of the tangent."""
        return take(tangent, ctx.index)

    @staticmethod
    def backward(ctx: Any, adj: Tensor) -> tuple[Tensor, None]:
        return assemble(adj, ctx.index, ctx.count), None


class _Assemble(torch.autograd.Function):
    """Autograd function of ``assemble``."""

    @staticmethod
    def forward(values: Tensor, index: Indices, count: int) -> Tensor:
        return _sum_rows(values, index, count)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Indices, int], output: Tensor) -> None:
        ctx.index, ctx.count = inputs[1:]

    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[int | None, None, None], values: Tensor, index: Indices, count: int
    ) -> tuple[Tensor, int]:
        """Sum the rows of all scenes at once, each scene into rows of its own."""
        scenes = move_scenes_first(values, in_dims[0], info.batch_size)
        total = assemble(scenes.flatten(0, 1), _of_scenes(index, len(scenes), count), count * len(scenes))
        return total.unflatten(0, (len(scenes), count)), 0

    @staticmethod
    def jvp(ctx: Any, tangent: Tensor, index: None, count: None) -> Tensor:
        """Sum the rows of the tangent."""
        return assemble(tangent, ctx.index, ctx.count)

    @staticmethod
    def backward(ctx: Any, adj: Tensor) -> tuple[Tensor, None, None]:
        return take(adj, ctx.index), None, None
