"""Arrays for kernels: numpy on the CPU, where making one costs next to nothing, tensors on a GPU."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from diffloom_kernels.memory_pool import SMALL, pool

_KINDS: dict[torch.dtype, np.dtype[Any]] = {
    torch.float32: np.dtype(np.float32), torch.float64: np.dtype(np.float64), torch.int32: np.dtype(np.int32),
    torch.bool: np.dtype(np.bool_),
}  # fmt: skip
_TYPES = {kind: dtype for dtype, kind in _KINDS.items()}
_INT, _FLAG = _KINDS[torch.int32], _KINDS[torch.bool]


#: Elements up to which an array is not worth a look into the pool.
FEW = SMALL // 8


def array_of(tensor: Tensor) -> Any:
    """A tensor's memory for a kernel, contiguous; shared with the tensor where it was contiguous already."""
    if tensor.requires_grad:
        tensor = tensor.detach()
    tensor = tensor.contiguous()
    return tensor.numpy() if tensor.is_cpu else tensor


@dataclass(frozen=True)
class Arena:
    """Makes arrays on one device, floats in one precision; large ones reuse memory (`memory_pool`)."""

    device: torch.device
    dtype: torch.dtype

    @classmethod
    def of(cls, tensor: Tensor) -> Arena:
        """Where a tensor is, in its precision."""
        return _arena(tensor.device, tensor.dtype)

    @functools.cached_property
    def on_host(self) -> bool:
        """Whether arrays are numpy's."""
        return self.device.type == "cpu"

    @functools.cached_property
    def _float(self) -> np.dtype[Any]:
        return _KINDS[self.dtype]

    def floats(self, *shape: int, fill: float | None = None) -> Any:
        """An array of floats, filled if said."""
        return self._make(shape, self._float, fill)

    def ints(self, *shape: int, fill: int | None = None) -> Any:
        """An array of 32 bit integers, filled if said."""
        return self._make(shape, _INT, fill)

    def flags(self, *shape: int, fill: bool | None = None) -> Any:
        """An array of truth values, filled if said."""
        return self._make(shape, _FLAG, fill)

    def _make(self, shape: tuple[int, ...], kind: np.dtype[Any], fill: float | None) -> Any:
        if not self.on_host:
            dtype = _TYPES[kind]
            if fill is None:
                return torch.empty(shape, dtype=dtype, device=self.device)
            return torch.full(shape, fill, dtype=dtype, device=self.device)
        array = np.empty(shape, kind) if math.prod(shape) < FEW else pool.array(shape, kind)
        if fill is not None:
            array.fill(fill)
        return array

    def tensor(self, array: Any) -> Tensor:
        """An array as a tensor that shares its memory."""
        return torch.from_numpy(array) if self.on_host else array

    def numbers(self, values: Any) -> Any:
        """Host values as an array of floats."""
        array: Any = np.asarray(values, self._float)
        return array if self.on_host else torch.from_numpy(array).to(self.device)


@functools.lru_cache(maxsize=16)
def _arena(device: torch.device, dtype: torch.dtype) -> Arena:
    return Arena(device, dtype)


@functools.lru_cache(maxsize=256)
def kept_numbers(arena: Arena, values: tuple[float, ...]) -> Any:
    """Numbers as an array that nobody writes to."""
    return arena.numbers(values)
