"""Counts of pixels that a draw could not make exactly."""

from __future__ import annotations

import warnings
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True)
class Tally:
    """Pixels of one draw.

    Args:
        crowded: Number of pixels with more pieces than there is room for, in which small pieces went to a neighbour.
        crossing: Number of pixels in which triangles intersect.
    """

    crowded: int = 0
    crossing: int = 0


_last: ContextVar[Tally] = ContextVar("last")


def last_tally() -> Tally:
    """Return the counts of the last draw of this thread.

    Returns:
        The counts; zeros before the first draw.
    """
    return _last.get(Tally())


def keep_tally(tally: Tally) -> None:
    """Keep the counts of a draw, and warn of crowded pixels."""
    _last.set(tally)
    if tally.crowded:
        warnings.warn(
            f"coverage: {tally.crowded} pixels hold more faces than there is room for, and are not exact; draw a "
            "larger image, or a coarser mesh",
            RuntimeWarning,
            stacklevel=2,
        )
