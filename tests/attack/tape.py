"""Source of an attack's choices: a seed, or a tape of earlier choices, which can be made simpler."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Tape:
    """Numbers in [0, 1), recorded when they are drawn. Smaller is simpler: 0 takes the first option, the least number.

    A tape that is played again goes on with zeros where it ends.
    """

    def __init__(self, seed: int, given: Sequence[float] | None = None) -> None:
        self._random = random.Random(seed)
        self._given = None if given is None else list(given)
        self.noted: list[float] = []

    def unit(self) -> float:
        """The next number."""
        if self._given is None:
            drawn = self._random.random()
        else:
            drawn = self._given[len(self.noted)] if len(self.noted) < len(self._given) else 0.0
        self.noted.append(drawn)
        return drawn

    def choice(self, options: Sequence[T]) -> T:
        """One of the options; put the plainest first."""
        return options[int(self.unit() * len(options))]

    def whole(self, low: int, high: int) -> int:
        """A whole number from low to high, both included."""
        return low + int(self.unit() * (high - low + 1))

    def real(self, low: float, high: float) -> float:
        """A number from low to high."""
        return low + self.unit() * (high - low)

    def some(self, options: Sequence[T], most: int) -> list[T]:
        """Up to ``most`` different options, at least one."""
        left, found = list(options), []
        for _ in range(min(self.whole(1, most), len(left))):
            found.append(left.pop(int(self.unit() * len(left))))
        return found

    def seed(self) -> int:
        """A seed for other generators."""
        return int(self.unit() * 2**31)


def simpler(tape: Sequence[float]) -> list[list[float]]:
    """Tapes to try in place of one that fails, the boldest first: shorter ones, then single choices at their least."""
    tried = [list(tape[: len(tape) // 2]), list(tape[: 3 * len(tape) // 4])] if len(tape) > 3 else []
    for number, value in enumerate(tape):
        if value > 0.0:
            tried.append([*tape[:number], 0.0, *tape[number + 1 :]])
            if value > 0.05:
                tried.append([*tape[:number], 0.5 * value, *tape[number + 1 :]])
    return tried
