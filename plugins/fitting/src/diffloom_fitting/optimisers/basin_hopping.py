"""Basin hopping: leap from the best place, run downhill, keep what is better."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from diffloom.deprecation import renamed_arguments
from diffloom_fitting.lockstep import Ask, in_lockstep
from diffloom_fitting.many_views import runs_together
from diffloom_fitting.objective import Objective
from diffloom_fitting.optimisers.gauss_newton import GaussNewton
from diffloom_fitting.optimisers.optimiser import FitError, Optimiser, Progress, first_evaluation
from diffloom_fitting.together import answer

#: Descents that are made at once at most.
MOST_AHEAD = 8


@dataclass(frozen=True)
class Ahead:
    """Descents from the next leaps, at a ``rate``; count: how many were made at once."""

    rate: float
    count: int
    descents: tuple[Progress, ...]


@renamed_arguments(spread="step_size")
@dataclass(frozen=True)
class BasinHopping(Optimiser):
    """For losses that are smooth in small cells with jumps between them, as contact makes them: a vertex touches the
    ground a step earlier or later. Within the right cell Gauss-Newton is exact; the leaps find the cell.

    One iteration is one leap from the best place, normal in the searched space, followed by ``steps`` Gauss-Newton
    steps, fewer when they lead nowhere. step_size: largest standard deviation of a leap; each draws its own, down to a
    hundredth of that, and each unknown its share of it, down to a tenth, evenly in the logarithm. patience: after two
    steps a leap is given up while its loss is above this many times the best one.
    """

    step_size: float = 0.1
    steps: int = 5
    patience: float = 10.0

    def begin(self, objective: Objective, z: Tensor, seed: int) -> Progress:
        return replace(first_evaluation(objective, z), memory={"seed": seed, "leaps": 0})

    def step(self, objective: Objective, progress: Progress, rate: float) -> Progress:
        leaps = int(progress.memory["leaps"])
        ahead = progress.ahead
        if not isinstance(ahead, Ahead) or ahead.rate != rate or not ahead.descents:
            ahead = self._look_ahead(objective, progress, rate)
        found = ahead.descents[0]
        better = found if found.value < progress.value else progress
        return replace(
            better, memory={"seed": progress.memory["seed"], "leaps": leaps + 1}, done=None,
            evaluations=progress.evaluations + found.evaluations, rejected=progress.rejected + found.rejected,
            # Leaps from a place that was left behind are of no use.
            ahead=replace(ahead, descents=ahead.descents[1:]) if better is progress else None,
        )  # fmt: skip

    def _look_ahead(self, objective: Objective, progress: Progress, rate: float) -> Ahead:
        """The next descents from the same place, in case none of the first is better: more each time, where many cost
        little more than one."""
        leaps, before = int(progress.memory["leaps"]), progress.ahead
        count = 1
        if leaps and runs_together(objective, progress.z):
            count = min(MOST_AHEAD, 2 * before.count) if isinstance(before, Ahead) else 2
        starts = [self._leap(progress, leaps + k, rate) for k in range(count)]
        if count == 1:
            return Ahead(rate, count, (self._descend(objective, starts[0], progress),))

        def descent(z: Tensor) -> Callable[[Ask], Progress]:
            return lambda ask: self._descend(objective.asking(ask), z, progress)

        found = in_lockstep([descent(z) for z in starts], objective.ask or answer)
        return Ahead(rate, count, tuple(replace(one, residuals=None) for one in found))

    def _leap(self, progress: Progress, number: int, rate: float) -> Tensor:
        """Where a leap leads to."""
        # A generator of its own for each leap: a resumed search leaps to the same places.
        generator = torch.Generator().manual_seed(int(progress.memory["seed"]) * 1_000_003 + number)
        size = progress.z.numel()
        drawn = torch.rand(1 + size, generator=generator, dtype=torch.float64)
        scales = 10.0 ** (-2.0 * drawn[0] - drawn[1:])
        noise = torch.randn(size, generator=generator, dtype=torch.float64)
        # The first descent is from the place itself.
        leap = rate * self.step_size * scales * noise * (1.0 if number else 0.0)
        return progress.z + leap.to(progress.z.dtype)

    def _descend(self, objective: Objective, z: Tensor, best: Progress) -> Progress:
        downhill = GaussNewton(trials=4)
        try:
            here = downhill.begin(objective, z, 0)
        except FitError:
            return Progress(z, float("inf"), None, {}, 1, 1)
        for number in range(self.steps):
            if here.done is not None or (number >= 2 and here.value > self.patience * best.value):
                break
            here = downhill.step(objective, here, 1.0)
        return here
