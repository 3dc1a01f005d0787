"""Arrays for kernels: numpy on the CPU, where making one costs next to nothing, tensors on a GPU."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from diffloom.memory_pool import SMALL, pool

_KINDS: dict[torch.dtype, np.dtype[Any]] = {
    torch.float32: np.dtype(np.float32), torch.float64: np.dtype(np.float64), torch.int32: np.dtype(np.int32),
    torch.bool: np.dtype(np.bool_),
}  # fmt: skip


def array_of(tensor: Tensor) -> Any:
    """A tensor's memory for a kernel, contiguous; shared with the tensor where it was contiguous already."""
    tensor = tensor.detach().contiguous()
    return tensor.numpy() if tensor.device.type == "cpu" else tensor


@dataclass(frozen=True)
class Arena:
    """Makes arrays on one device, floats in one precision; large ones reuse memory (``diffloom.memory_pool``)."""

    device: torch.device
    dtype: torch.dtype

    @classmethod
    def of(cls, tensor: Tensor) -> Arena:
        """Where a tensor is, in its precision."""
        return cls(tensor.device, tensor.dtype)

    @functools.cached_property
    def on_host(self) -> bool:
        """Whether arrays are numpy's."""
        return self.device.type == "cpu"

    def floats(self, *shape: int, fill: float | None = None) -> Any:
        """An array of floats, filled if said."""
        return self._make(shape, self.dtype, fill)

    def ints(self, *shape: int, fill: int | None = None) -> Any:
        """An array of 32 bit integers, filled if said."""
        return self._make(shape, torch.int32, fill)

    def flags(self, *shape: int, fill: bool | None = None) -> Any:
        """An array of truth values, filled if said."""
        return self._make(shape, torch.bool, fill)

    def _make(self, shape: tuple[int, ...], dtype: torch.dtype, fill: float | None) -> Any:
        if not self.on_host:
            if fill is None:
                return torch.empty(shape, dtype=dtype, device=self.device)
            return torch.full(shape, fill, dtype=dtype, device=self.device)
        kind = _KINDS[dtype]
        small = math.prod(shape) * kind.itemsize < SMALL
        array = np.empty(shape, kind) if small else pool.array(shape, kind)
        if fill is not None:
            array.fill(fill)
        return array

    def tensor(self, array: Any) -> Tensor:
        """An array as a tensor that shares its memory."""
        return torch.from_numpy(array) if self.on_host else array

    def numbers(self, values: Any) -> Any:
        """Host values as an array of floats."""
        array: Any = np.asarray(values, _KINDS[self.dtype])
        return array if self.on_host else torch.from_numpy(array).to(self.device)


@functools.lru_cache(maxsize=256)
def kept_numbers(arena: Arena, values: tuple[float, ...]) -> Any:
    """Numbers as an array that nobody writes to."""
    return arena.numbers(values)
