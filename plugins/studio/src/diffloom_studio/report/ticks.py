"""Axes of a chart: from where to where, and which round numbers are written at them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

ROUND = (1.0, 2.0, 2.5, 5.0, 10.0)
MARGIN = 0.05  # of the range, left free on both sides


@dataclass(frozen=True)
class Axis:
    """low, high: its ends, logarithms to base 10 when ``log``. ticks: (value, text)."""

    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]
    log: bool = False

    def part(self, value: float) -> float:
        """Where a value lies: 0 at the low end, 1 at the high."""
        return ((math.log10(value) if self.log else value) - self.low) / (self.high - self.low)


def linear_axis(values: Sequence[float], count: int, whole: bool = False) -> Axis:
    """An axis around the values with about ``count`` ticks; whole: at whole numbers only."""
    low, high = _ends(values)
    if high - low <= 1e-12 * max(abs(low), abs(high), 1e-300):
        widened = 0.5 * abs(low) or 0.5
        low, high = low - widened, high + widened
    step = _step((high - low) / count)
    if whole:
        step = max(1.0, float(round(step)))
    low, high = low - MARGIN * (high - low), high + MARGIN * (high - low)
    marks = [k * step for k in range(math.ceil(low / step), math.floor(high / step) + 1)]
    return Axis(low, high, tuple((mark, _written(mark, step)) for mark in marks))


def log_axis(values: Sequence[float], count: int) -> Axis:
    """The same with a logarithmic scale: ticks at powers of ten, and between them where these are few."""
    low, high = (math.log10(end) for end in _ends([v for v in values if v > 0.0]))
    spare = max(MARGIN * (high - low), 0.1)
    low, high = low - spare, high + spare
    first, last = math.floor(low), math.ceil(high)
    for within in ((1.0,), (1.0, 3.0), (1.0, 2.0, 5.0), tuple(1.0 + 0.5 * k for k in range(18))):
        found = [m * 10.0**k for k in range(first, last + 1) for m in within if low <= k + math.log10(m) <= high]
        if len(found) >= 3:
            break
    every = -(-len(found) // (2 * count))
    return Axis(low, high, tuple((mark, f"{mark:.3g}") for mark in found[::every]), log=True)


def _ends(values: Sequence[float]) -> tuple[float, float]:
    finite = [v for v in values if math.isfinite(v)]
    return (min(finite), max(finite)) if finite else (1.0, 1.0)


def _step(least: float) -> float:
    """The smallest round number that is not below ``least``."""
    power = 10.0 ** math.floor(math.log10(least))
    return next((r * power for r in ROUND if r * power >= least * (1.0 - 1e-9)), 10.0 * power)


def _written(mark: float, step: float) -> str:
    """A tick's number with the digits that tell it from its neighbours."""
    if abs(mark) < 0.5 * step:
        return "0"
    digits = math.floor(math.log10(abs(mark) / step) + 1e-9) + 2
    return f"{mark:.{max(digits, 1)}g}" if abs(mark) >= 1e6 or step < 1e-4 else f"{mark:.{_decimals(step)}f}"


def _decimals(step: float) -> int:
    """Decimal places that write multiples of ``step`` in full."""
    places = max(0, -math.floor(math.log10(step) + 1e-9))
    return places if abs(step * 10.0**places - round(step * 10.0**places)) < 1e-6 else places + 1
