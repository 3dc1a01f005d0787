"""Timing of the parts of a fit."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from diffloom_kernels import compile_seconds

TIMED_PARTS = ("simulate", "render", "loss", "render backward", "simulate backward")


class Lap:
    """Time since construction, without the time for compiling programs."""

    def __init__(self) -> None:
        self._began, self._compiled = time.perf_counter(), compile_seconds()

    @property
    def compiling(self) -> float:
        """Time for compiling since construction [s]."""
        return compile_seconds() - self._compiled

    @property
    def seconds(self) -> float:
        """Time without compiling since construction [s]."""
        return max(0.0, time.perf_counter() - self._began - self.compiling)


@dataclass
class Stopwatch:
    """Time by part of the work, without compiling.

    Args:
        seconds: Time of each part [s].
    """

    seconds: dict[str, float] = field(default_factory=dict)

    def add(self, part: str, seconds: float) -> None:
        """Add time to a part.

        Args:
            part: Name of the part.
            seconds: The time [s].
        """
        self.seconds[part] = self.seconds.get(part, 0.0) + seconds

    @contextmanager
    def timing(self, part: str) -> Iterator[None]:
        """Context manager: adds the time of its block to a part.

        Args:
            part: Name of the part.

        Returns:
            The context manager.
        """
        lap = Lap()
        try:
            yield
        finally:
            self.add(part, lap.seconds)

    @property
    def total(self) -> float:
        """Time of all parts [s]."""
        return sum(self.seconds.values())
