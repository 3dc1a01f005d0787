"""Where the time goes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from diffloom_kernels import compile_seconds

TIMED_PARTS = ("simulate", "render", "loss", "render backward", "simulate backward")


class Lap:
    """Time since it was made, without what went into compiling programs, which only a first run does."""

    def __init__(self) -> None:
        self._began, self._compiled = time.perf_counter(), compile_seconds()

    @property
    def compiling(self) -> float:
        """Seconds that went into compiling since."""
        return compile_seconds() - self._compiled

    @property
    def seconds(self) -> float:
        """All others."""
        return max(0.0, time.perf_counter() - self._began - self.compiling)


@dataclass
class Stopwatch:
    """Seconds by part, added up; compiling is not among them."""

    seconds: dict[str, float] = field(default_factory=dict)

    def add(self, part: str, seconds: float) -> None:
        """Count ``seconds`` more for ``part``."""
        self.seconds[part] = self.seconds.get(part, 0.0) + seconds

    @contextmanager
    def timing(self, part: str) -> Iterator[None]:
        """Count the time spent inside."""
        lap = Lap()
        try:
            yield
        finally:
            self.add(part, lap.seconds)

    @property
    def total(self) -> float:
        """All parts together [s]."""
        return sum(self.seconds.values())
