"""Arrays for kernels: numpy on the CPU, where making one costs next to nothing, tensors on a GPU.

Memory of large arrays is used again when the last view of an array is gone. The system hands out fresh memory page by
page, each with an interruption, which for large arrays takes as long as computing what goes into them. A fit draws the
same images and runs the same rollouts many times over, so what one iteration lets go the next takes up.

    array = pool.array((count, 3), np.float32)     # uninitialised; the memory returns by itself
    states = pool.tensor((steps, *state.shape), state)
"""

from __future__ import annotations

import functools
import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import DTypeLike, NDArray
from torch import Tensor

_KINDS: dict[torch.dtype, np.dtype[Any]] = {
    torch.float32: np.dtype(np.float32), torch.float64: np.dtype(np.float64), torch.int32: np.dtype(np.int32),
    torch.bool: np.dtype(np.bool_),
}  # fmt: skip
_TYPES = {kind: dtype for dtype, kind in _KINDS.items()}
_INT, _FLAG = _KINDS[torch.int32], _KINDS[torch.bool]

#: Bytes from which on memory is pooled; smaller arrays the allocator itself finds again.
SMALL = 1 << 18
#: Bytes that may wait for use.
MOST = 1 << 28


class MemoryPool:
    """Pieces of host memory that wait for use, by size; safe to use from several threads."""

    def __init__(self, most: int = MOST) -> None:
        self.most = most
        self.waiting = 0
        self._pieces: dict[int, NDArray[np.uint8]] = {}  # by identity, the longest unused first
        self._by_size: dict[int, list[int]] = {}
        self._lock = threading.RLock()  # a view may die at any time, even while this thread asks for memory

    def array(self, shape: Sequence[int], dtype: DTypeLike) -> NDArray[Any]:
        """An uninitialised array in C order."""
        kind = np.dtype(dtype)
        size = math.prod(shape) * kind.itemsize
        if size < SMALL:
            return np.empty(shape, kind)
        # one of eight sizes between powers of two, so that similar arrays share memory
        step = 1 << (size.bit_length() - 4)
        return np.asarray(_Loan(self, self.take(-(-size // step) * step), tuple(shape), kind))

    def tensor(self, shape: Sequence[int], like: Tensor) -> Tensor:
        """An uninitialised tensor of the dtype and device of another one; only host memory is pooled."""
        kind = _KINDS.get(like.dtype)
        if like.device.type != "cpu" or kind is None or math.prod(shape) * like.element_size() < SMALL:
            return like.new_empty(tuple(shape))
        return torch.from_numpy(self.array(shape, kind))

    def take(self, size: int) -> NDArray[np.uint8]:
        """A piece of ``size`` bytes, used before if there is one."""
        with self._lock:
            if keys := self._by_size.get(size):
                self.waiting -= size
                return self._pieces.pop(keys.pop())
        # Not np.empty: the large pages it asks for are slower to come by.
        return torch.empty(size, dtype=torch.uint8).numpy()

    def give_back(self, piece: NDArray[np.uint8]) -> None:
        """Let a piece wait for use; of more than ``most`` bytes the longest unused are let go."""
        with self._lock:
            self._pieces[id(piece)] = piece
            self._by_size.setdefault(piece.nbytes, []).append(id(piece))
            self.waiting += piece.nbytes
            while self.waiting > self.most:
                oldest = next(iter(self._pieces))
                size = self._pieces.pop(oldest).nbytes
                self._by_size[size].remove(oldest)
                self.waiting -= size


class _Loan:
    """Stands behind an array, and all views of it, that lies in pooled memory."""

    __slots__ = ("__array_interface__", "_piece", "_pool")

    def __init__(self, pool: MemoryPool, piece: NDArray[np.uint8], shape: tuple[int, ...], kind: np.dtype[Any]) -> None:
        self._pool, self._piece = pool, piece
        address = piece.__array_interface__["data"]
        self.__array_interface__ = {"data": address, "shape": shape, "typestr": kind.str, "version": 3}

    def __del__(self) -> None:
        self._pool.give_back(self._piece)


#: What everything in this process shares.
pool = MemoryPool()


#: Elements up to which an array is not worth a look into the pool.
FEW = SMALL // 8


def as_array(tensor: Tensor) -> Any:
    """A tensor's memory for a kernel, contiguous; shared with the tensor where it was contiguous already."""
    if tensor.requires_grad:
        tensor = tensor.detach()
    tensor = tensor.contiguous()
    return tensor.numpy() if tensor.is_cpu else tensor


@dataclass(frozen=True)
class Arena:
    """Makes arrays on one device, floats in one precision; large ones reuse memory (`pool`)."""

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
def cache_numbers(arena: Arena, values: tuple[float, ...]) -> Any:
    """Numbers as an array that nobody writes to."""
    return arena.numbers(values)
