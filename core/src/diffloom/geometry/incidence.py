"""Between vertices and elements, both ways, with gradients summed in a fixed order.

Plain indexing would do, but PyTorch adds up its gradient in an order that depends on the number of threads.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Indices = NDArray[np.int64]


def take(values: Tensor, index: Indices) -> Tensor:
    """``values[index]``: rows of vertices (V, ...) at the corners of elements (E, corners), say."""
    result: Tensor = _Take.apply(values, index)  # type: ignore[no-untyped-call]
    return result


def assemble(values: Tensor, index: Indices, count: int) -> Tensor:
    """The transpose of ``take``: rows of ``values`` summed into ``count`` rows by their index."""
    if not values.requires_grad:
        return _sum_rows(values, index, count)
    result: Tensor = _Assemble.apply(values, index, count)  # type: ignore[no-untyped-call]
    return result


def _sum_rows(values: Tensor, index: Indices, count: int) -> Tensor:
    """Row i is the sum of the rows of ``values`` whose index is i; bincount adds one by one, in float64."""
    flat = values.detach().cpu().contiguous().numpy().reshape(index.size, -1)
    columns = [np.bincount(index.ravel(), weights=column, minlength=count) for column in flat.T]
    total = torch.from_numpy(np.stack(columns, axis=1)).to(values.dtype).to(values.device)
    return total.reshape(count, *values.shape[index.ndim :])


class _Take(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, index: Indices) -> Tensor:
        ctx.index, ctx.count = index, values.shape[0]
        return values[torch.from_numpy(index).to(values.device)]

    @staticmethod
    def backward(ctx: Any, adj: Tensor) -> tuple[Tensor, None]:
        return assemble(adj, ctx.index, ctx.count), None


class _Assemble(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, index: Indices, count: int) -> Tensor:
        ctx.index = index
        return _sum_rows(values, index, count)

    @staticmethod
    def backward(ctx: Any, adj: Tensor) -> tuple[Tensor, None, None]:
        return take(adj, ctx.index), None, None
