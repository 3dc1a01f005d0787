"""Memory for large arrays, used again when the last view of an array is gone.

The system hands out fresh memory page by page, each with an interruption, which for large arrays takes as long as
computing what goes into them. A fit draws the same images and runs the same rollouts many times over, so what one
iteration lets go the next takes up.

    array = pool.array((count, 3), np.float32)     # uninitialised; the memory returns by itself
    states = pool.tensor((steps, *state.shape), state)
"""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import DTypeLike, NDArray
from torch import Tensor

#: Bytes from which on memory is pooled; smaller arrays the allocator itself finds again.
SMALL = 1 << 18
#: Bytes that may wait for use.
MOST = 1 << 28

_KINDS: dict[torch.dtype, DTypeLike] = {torch.float32: np.float32, torch.float64: np.float64, torch.int32: np.int32}


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
