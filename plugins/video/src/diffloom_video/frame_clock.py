"""Time stamps that make sense: put in order where only their order is wrong, refused where they tell no time."""

from __future__ import annotations

import heapq
import warnings
from collections import deque
from collections.abc import Iterable, Iterator
from typing import TypeVar

from diffloom.interfaces import InputError

Item = TypeVar("Item")

#: How many frames a stamp may stand from its own: the most that a codec holds back to put frames in order.
REACH = 16


def in_order(frames: Iterable[tuple[float, Item]], name: str) -> Iterator[tuple[float, Item]]:
    """Frames with increasing times [s].

    Frames are believed to come in the order in which they were taken, as decoders give them. Some containers hand out
    their stamps in another order: the n-th frame then gets the n-th stamp in time, and a warning says so. Stamps that
    repeat, or go back further, are an InputError.
    """
    waiting: deque[tuple[float, Item]] = deque()
    stamps: list[float] = []
    last, told = None, False
    for number, (time, item) in enumerate(_with_end(frames)):
        if item is not None:
            waiting.append((time, item))
            heapq.heappush(stamps, time)
        while waiting and (item is None or len(waiting) > REACH):
            (own, oldest), stamp = waiting.popleft(), heapq.heappop(stamps)
            if last is not None and stamp <= last:
                raise InputError(
                    f"video {name!r}: its time stamps tell no time: around frame {number - len(waiting) - 1}, "
                    f"{stamp:g} s follows {last:g} s; say how many frames it has per second, such as rate = 30"
                )
            if own != stamp and not told:
                told = True
                warnings.warn(
                    f"video {name!r}: its time stamps come out of order; they were put in order, since frames come in "
                    "the order in which they were taken. Give rate (frames per second) to count frames instead",
                    stacklevel=2,
                )
            last = stamp
            yield stamp, oldest


def _with_end(frames: Iterable[tuple[float, Item]]) -> Iterator[tuple[float, Item | None]]:
    """The frames and a last entry without one."""
    yield from frames
    yield 0.0, None
