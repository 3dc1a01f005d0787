"""Values that change on the way: blur, horizon, learning rate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from diffloom.interfaces import InputError
from diffloom.validation import check_settings


@dataclass(frozen=True)
class Schedule:
    """From ``first`` to ``last`` over the first ``over`` (0..1] part of a stage, then constant.

    shape: "linear", "exponential" (equal factors; both ends positive), or "steps" with ``count`` equal stairs, which
    changes the objective rarely and so suits Gauss-Newton and L-BFGS.
    """

    first: float
    last: float
    shape: Literal["linear", "exponential", "steps"] = "linear"
    over: float = 1.0
    count: int = 4

    def __post_init__(self) -> None:
        if self.shape not in ("linear", "exponential", "steps"):
            raise InputError(f"schedule: got shape {self.shape!r}; expected one of linear, exponential, steps")
        check_settings(self)
        if self.shape == "exponential" and not (self.first > 0.0 and self.last > 0.0):
            raise InputError(f"schedule: got {self.first:g} to {self.last:g}; an exponential one needs positive ends")
        if not 0.0 < self.over <= 1.0:
            raise InputError(f"schedule: got over={self.over:g}; expected a part of the stage, above 0 and at most 1")
        if self.count < 2:
            raise InputError(f"schedule: got count={self.count}; expected 2 or more stairs")

    def at(self, iteration: int, iterations: int) -> float:
        """The value for iteration 0, 1, ... of a stage with ``iterations`` of them."""
        length = max(1.0, self.over * (iterations - 1))
        part = min(1.0, iteration / length)
        if self.shape == "exponential":
            return float(self.first * (self.last / self.first) ** part)
        if self.shape == "steps":
            part = min(int(part * self.count), self.count - 1) / (self.count - 1)
        return self.first + (self.last - self.first) * part


def constant(value: float) -> Schedule:
    """A schedule that does not change."""
    return Schedule(value, value)
