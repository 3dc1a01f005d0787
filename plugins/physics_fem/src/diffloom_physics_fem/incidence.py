"""Between vertices and tetrahedra, both ways; gradients are summed in one order whatever the number of threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Index = NDArray[np.int64]


def corners(values: Tensor, index: Index) -> Tensor:
    """``values[index]``: rows of vertices (vertices, ...) at the corners of elements (elements, 4)."""
    result: Tensor = _Corners.apply(values, index)  # type: ignore[no-untyped-call]
    return result


def collect(values: Tensor, index: Index, count: int) -> Tensor:
    """The transpose of ``corners``: (elements, 4, ...) summed into ``count`` rows by their index."""
    result: Tensor = _Collect.apply(values, index, count)  # type: ignore[no-untyped-call]
    return result


class _Corners(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, index: Index) -> Tensor:
        ctx.index, ctx.count = index, values.shape[0]
        return values[torch.from_numpy(index).to(values.device)]

    @staticmethod
    def backward(ctx: Any, adj: Tensor) -> tuple[Tensor, None]:
        return collect(adj, ctx.index, ctx.count), None


class _Collect(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, index: Index, count: int) -> Tensor:
        ctx.index = index
        rest = values.shape[index.ndim :]
        table = values.detach().cpu().numpy().reshape(index.size, -1)
        # bincount adds one by one in float64; PyTorch's index_add would split the work between threads.
        sums = [np.bincount(index.ravel(), weights=column, minlength=count) for column in table.T]
        return torch.from_numpy(np.stack(sums, axis=1)).to(values).reshape(count, *rest)

    @staticmethod
    def backward(ctx: Any, adj: Tensor) -> tuple[Tensor, None, None]:
        return corners(adj, ctx.index), None, None
