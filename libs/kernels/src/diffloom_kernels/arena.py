"""Arrays for kernels: numpy arrays on the CPU, because they are cheap to create, and tensors on a GPU.

Large arrays come from a memory pool and return to it when their last view is garbage collected. Fresh pages from the
operating system cost one page fault each, which for large arrays takes as long as the computation that fills them.

array = pool.array((count, 3), np.float32)     # uninitialised; returned to the pool when garbage
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

from diffloom.errors import InputError

_KINDS: dict[torch.dtype, np.dtype[Any]] = {
    torch.float32: np.dtype(np.float32), torch.float64: np.dtype(np.float64), torch.int32: np.dtype(np.int32),
    torch.bool: np.dtype(np.bool_),
}  # fmt: skip
_TYPES = {kind: dtype for dtype, kind in _KINDS.items()}
_INT, _FLAG = _KINDS[torch.int32], _KINDS[torch.bool]

#: Smallest pooled size [bytes]; the allocator reuses smaller blocks well enough.
SMALL = 1 << 18
#: Largest total size of unused blocks [bytes].
MOST = 1 << 28


class MemoryPool:
    """Thread-safe pool of host memory, by size.

    Args:
        most: Largest total size of unused blocks [bytes], 256 MB by default; the longest unused are freed first.
    """

    def __init__(self, most: int = MOST) -> None:
        self.most = most
        self.waiting = 0
        self._pieces: dict[int, NDArray[np.uint8]] = {}  # by id, least recently used first
        self._by_size: dict[int, list[int]] = {}
        self._lock = threading.RLock()  # reentrant: a view may be collected while this thread holds the lock

    def array(self, shape: Sequence[int], dtype: DTypeLike) -> NDArray[Any]:
        """Return an uninitialised array in C order.

        Args:
            shape: Shape of the array.
            dtype: Type of its elements.

        Returns:
            Array in pooled memory, or an ordinary one if it is small.
        """
        kind = np.dtype(dtype)
        size = math.prod(shape) * kind.itemsize
        if size < SMALL:
            return np.empty(shape, kind)
        # Round up to one of eight sizes per power of two, so that arrays of similar size share blocks.
        step = 1 << (size.bit_length() - 4)
        return np.asarray(_Loan(self, self.take(-(-size // step) * step), tuple(shape), kind))

    def tensor(self, shape: Sequence[int], like: Tensor) -> Tensor:
        """Return an uninitialised tensor with the dtype and device of another tensor.

        Args:
            shape: Shape of the tensor.
            like: Tensor whose dtype and device are used. Only host memory is pooled.

        Returns:
            Tensor of this shape.
        """
        kind = _KINDS.get(like.dtype)
        if like.device.type != "cpu" or kind is None or math.prod(shape) * like.element_size() < SMALL:
            return like.new_empty(tuple(shape))
        return torch.from_numpy(self.array(shape, kind))

    def take(self, size: int) -> NDArray[np.uint8]:
        """Return a block of memory, a used one if there is one.

        Args:
            size: Size of the block [bytes].

        Returns:
            Uninitialised bytes (size,).
        """
        with self._lock:
            if keys := self._by_size.get(size):
                self.waiting -= size
                return self._pieces.pop(keys.pop())
        # torch.empty, because np.empty requests huge pages, which take longer to allocate.
        return torch.empty(size, dtype=torch.uint8).numpy()

    def give_back(self, piece: NDArray[np.uint8]) -> None:
        """Return a block to the pool, and free the longest unused blocks while more than ``most`` bytes are unused.

        Args:
            piece: Block from ``take``.
        """
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
    """Owner of an array in pooled memory: returns the block to the pool when the array and all its views are gone."""

    __slots__ = ("__array_interface__", "_piece", "_pool")

    def __init__(self, pool: MemoryPool, piece: NDArray[np.uint8], shape: tuple[int, ...], kind: np.dtype[Any]) -> None:
        self._pool, self._piece = pool, piece
        address = piece.__array_interface__["data"]
        self.__array_interface__ = {"data": address, "shape": shape, "typestr": kind.str, "version": 3}

    def __del__(self) -> None:
        self._pool.give_back(self._piece)


#: Pool shared by the whole process.
pool = MemoryPool()


#: Element count below which arrays bypass the pool.
FEW = SMALL // 8


def as_array(tensor: Tensor) -> Any:
    """Return the memory of a tensor as a kernel takes it.

    Args:
        tensor: Tensor on any device; gradients are detached.

    Returns:
        numpy array on the host, tensor on a GPU; contiguous, and sharing memory with ``tensor`` if that is contiguous.

    Raises:
        InputError: The tensor belongs to a transform of ``torch.func``.
    """
    if tensor.requires_grad:
        tensor = tensor.detach()
    tensor = tensor.contiguous()
    try:
        return tensor.numpy() if tensor.is_cpu else tensor
    except RuntimeError as error:
        raise InputError(
            f"a kernel got a tensor that has no memory of its own ({error}); call this function outside of the "
            "transforms of torch.func, and take gradients by backward() or torch.autograd.grad"
        ) from error


@dataclass(frozen=True)
class Arena:
    """Factory of arrays on one device, with floats of one precision; large host arrays come from `pool`.

    Args:
        device: Device of the arrays.
        dtype: Float type, torch.float32 or torch.float64.
    """

    device: torch.device
    dtype: torch.dtype

    @classmethod
    def of(cls, tensor: Tensor) -> Arena:
        """Return the arena for the device and dtype of a tensor.

        Args:
            tensor: Tensor of floats.

        Returns:
            Arena, memoised.
        """
        return _arena(tensor.device, tensor.dtype)

    @functools.cached_property
    def on_host(self) -> bool:
        """True if arrays are numpy arrays in host memory."""
        return self.device.type == "cpu"

    @functools.cached_property
    def _float(self) -> np.dtype[Any]:
        """numpy's type of the floats."""
        return _KINDS[self.dtype]

    def floats(self, *shape: int, fill: float | None = None) -> Any:
        """Return an array of floats.

        Args:
            *shape: Shape of the array.
            fill: Value of all elements; uninitialised if None.

        Returns:
            numpy array or GPU tensor.
        """
        return self._make(shape, self._float, fill)

    def ints(self, *shape: int, fill: int | None = None) -> Any:
        """Return an array of 32-bit integers.

        Args:
            *shape: Shape of the array.
            fill: Value of all elements; uninitialised if None.

        Returns:
            numpy array or GPU tensor.
        """
        return self._make(shape, _INT, fill)

    def flags(self, *shape: int, fill: bool | None = None) -> Any:
        """Return an array of booleans.

        Args:
            *shape: Shape of the array.
            fill: Value of all elements; uninitialised if None.

        Returns:
            numpy array or GPU tensor.
        """
        return self._make(shape, _FLAG, fill)

    def _make(self, shape: tuple[int, ...], kind: np.dtype[Any], fill: float | None) -> Any:
        """Return an array of a numpy type, filled if ``fill`` is given."""
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
        """Return an array as a tensor that shares its memory.

        Args:
            array: Array from this arena.

        Returns:
            Tensor on the arena's device.
        """
        return torch.from_numpy(array) if self.on_host else array

    def numbers(self, values: Any) -> Any:
        """Return host values as an array of floats.

        Args:
            values: Numbers, nested sequences of numbers or a numpy array.

        Returns:
            numpy array or GPU tensor.
        """
        array: Any = np.asarray(values, self._float)
        return array if self.on_host else torch.from_numpy(array).to(self.device)


@functools.lru_cache(maxsize=16)
def _arena(device: torch.device, dtype: torch.dtype) -> Arena:
    """Return the memoised arena of a device and dtype."""
    return Arena(device, dtype)


@functools.lru_cache(maxsize=256)
def cache_numbers(arena: Arena, values: tuple[float, ...]) -> Any:
    """Return a memoised constant array of floats.

    Args:
        arena: Arena that makes the array.
        values: Numbers, as a tuple.

    Returns:
        Array (len(values),); callers must not write to it.
    """
    return arena.numbers(values)
