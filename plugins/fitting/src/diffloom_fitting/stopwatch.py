"""Where the time goes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

PARTS = ("simulate", "render", "loss", "render backward", "simulate backward")


@dataclass
class Stopwatch:
    """Seconds by part, added up."""

    seconds: dict[str, float] = field(default_factory=dict)

    def add(self, part: str, seconds: float) -> None:
        """Count ``seconds`` more for ``part``."""
        self.seconds[part] = self.seconds.get(part, 0.0) + seconds

    @contextmanager
    def timing(self, part: str) -> Iterator[None]:
        """Count the time spent inside."""
        begin = time.perf_counter()
        try:
            yield
        finally:
            self.add(part, time.perf_counter() - begin)

    @property
    def total(self) -> float:
        """All parts together [s]."""
        return sum(self.seconds.values())
