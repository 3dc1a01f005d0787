"""Memory for large arrays that is used again: what the system hands out afresh must be cleared, page by page.

A picture needs the same arrays each time it is drawn, and for large ones asking the system anew can take longer than
drawing. An array made here lends its memory; when the last view of it is gone, the memory waits for the next.
"""

from __future__ import annotations

import math
import threading
from typing import Any

import numpy as np

#: Bytes from which on memory is lent; smaller arrays the allocator itself finds again.
LEAST = 1 << 18
#: Bytes that may wait for use.
MOST = 1 << 28


class Store:
    """Memory that waits for use, by size."""

    def __init__(self) -> None:
        self._waiting: dict[int, list[Any]] = {}
        self._total = 0
        self._lock = threading.RLock()  # a loan may end at any time, even while this thread asks for one

    def take(self, size: int) -> Any:
        """``size`` bytes."""
        with self._lock:
            heap = self._waiting.get(size)
            if heap:
                self._total -= size
                return heap.pop()
        return np.empty(size, np.uint8)

    def keep(self, memory: Any) -> None:
        """Let memory wait, unless too much does already."""
        with self._lock:
            if self._total + memory.nbytes <= MOST:
                self._total += memory.nbytes
                self._waiting.setdefault(memory.nbytes, []).append(memory)


class Loan:
    """Stands behind an array, and all views of it, that lies in lent memory."""

    __slots__ = ("__array_interface__", "_memory", "_store")

    def __init__(self, store: Store, size: int, shape: tuple[int, ...], kind: np.dtype[Any]) -> None:
        self._store, self._memory = store, store.take(size)
        address = self._memory.__array_interface__["data"]
        self.__array_interface__ = {"data": address, "shape": shape, "typestr": kind.str, "version": 3}

    def __del__(self) -> None:
        self._store.keep(self._memory)


_store = Store()


def lent(shape: tuple[int, ...], kind: np.dtype[Any]) -> Any:
    """An array of that shape, its values undefined."""
    size = math.prod(shape) * kind.itemsize
    if size < LEAST:
        return np.empty(shape, kind)
    # one of eight sizes between powers of two, so that similar arrays share memory
    step = 1 << (size.bit_length() - 4)
    return np.asarray(Loan(_store, -(-size // step) * step, shape, kind))
