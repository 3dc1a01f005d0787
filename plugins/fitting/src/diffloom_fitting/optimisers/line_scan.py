"""Steepest descent that looks along the whole line: for motions whose gradient is right only nearby."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from diffloom.interfaces import InputError
from diffloom_fitting.objective import Objective
from diffloom_fitting.optimisers.optimiser import Optimiser, Progress, first_evaluation


@dataclass(frozen=True)
class LineScan(Optimiser):
    """One gradient per iteration, and ``trials`` simulations along it, of which the lowest loss is taken.

    The first trial is ``rate`` long in the searched space, each further one ``factor`` times as long. A walk of many
    steps is chaotic: the gradient tells the direction, but how far it holds can only be tried, and a search that stops
    at the first lower loss, as that of L-BFGS does, stops at the first ripple. When no trial is lower the next
    iteration's are shorter, down to a millionth.
    """

    stop_window: ClassVar[int] = 5

    rate: float = 0.1
    factor: float = 2.0
    trials: int = 8

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (self.rate > 0.0 and self.factor > 1.0 and self.trials >= 1):
            raise InputError(
                f"line_scan: got rate={self.rate:g}, factor={self.factor:g} and trials={self.trials}; expected rate "
                "above 0, factor above 1 and at least 1 trial"
            )

    def begin(self, objective: Objective, z: Tensor, seed: int) -> Progress:
        return first_evaluation(objective, z)

    def step(self, objective: Objective, progress: Progress, rate: float) -> Progress:
        gradient = progress.gradient
        assert gradient is not None
        norm = float(gradient.norm())
        if norm == 0.0:
            return Progress(progress.z, progress.value, gradient, {}, progress.evaluations, progress.rejected,
                            "the gradient is zero")  # fmt: skip
        shrunk = float(progress.memory.get("shrunk", 1.0))
        first = self.rate * rate * shrunk
        places = [progress.z - gradient * (first * self.factor**k / norm) for k in range(self.trials)]
        seen = [objective.value(z) for z in places]
        rejected = progress.rejected + sum(not one.finite for one in seen)
        spent = progress.evaluations + self.trials
        ranked = sorted((one.value, k) for k, one in enumerate(seen) if one.finite and one.value < progress.value)
        for _, k in ranked:
            here = objective.evaluate(places[k])
            spent += 1
            if here.finite:
                memory = {"shrunk": min(1.0, shrunk * self.factor)}
                return Progress(places[k], here.value, here.gradient, memory, spent, rejected)
            rejected += 1
        shrunk /= self.factor**self.trials
        done = "no lower loss along the gradient" if shrunk < 1e-6 else None
        return Progress(progress.z, progress.value, gradient, {"shrunk": shrunk}, spent, rejected, done)
