"""Basin hopping (Wales and Doye 1997): leap from the best point, descend, keep improvements."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from diffloom_fitting.optimisers.gauss_newton import GaussNewton
from diffloom_fitting.optimisers.optimiser import FitError, Optimiser, Progress, first_evaluation
from diffloom_fitting.problem import Problem, Search


@dataclass(frozen=True)
class BasinHopping(Optimiser):
    """Basin hopping with Gauss-Newton descents, for losses with jumps between smooth cells, such as by contact.

    One iteration is a normally distributed leap from the best point, followed by Gauss-Newton steps.

    Args:
        step_size: Largest standard deviation of a leap in the searched space. Each leap draws its own, down to a
            hundredth, and each unknown its share, down to a tenth, log-uniformly.
        steps: Largest number of Gauss-Newton steps per leap.
        patience: After two steps a leap is abandoned if its loss is above this multiple of the best one.
    """

    step_size: float = 0.1
    steps: int = 5
    patience: float = 10.0

    def begin(self, problem: Problem, z: Tensor, seed: int) -> Search[Progress]:
        return replace((yield from first_evaluation(problem, z)), memory={"seed": seed, "leaps": 0})

    def step(self, problem: Problem, progress: Progress, rate: float) -> Search[Progress]:
        leaps = int(progress.memory["leaps"])
        # A new generator for each leap, so that a resumed search leaps to the same points.
        generator = torch.Generator().manual_seed(int(progress.memory["seed"]) * 1_000_003 + leaps)
        size = progress.z.numel()
        drawn = torch.rand(1 + size, generator=generator, dtype=torch.float64)
        scales = 10.0 ** (-2.0 * drawn[0] - drawn[1:])
        noise = torch.randn(size, generator=generator, dtype=torch.float64)
        # The first descent begins without a leap.
        leap = rate * self.step_size * scales * noise * (1.0 if leaps else 0.0)
        found = yield from self._descend(problem, progress.z + leap.to(progress.z.dtype), progress)
        better = found if found.value < progress.value else progress
        return replace(
            better, memory={"seed": progress.memory["seed"], "leaps": leaps + 1}, done=None,
            evaluations=progress.evaluations + found.evaluations, rejected=progress.rejected + found.rejected,
        )  # fmt: skip

    def _descend(self, problem: Problem, z: Tensor, best: Progress) -> Search[Progress]:
        downhill, problem = GaussNewton(trials=4), problem.without_enough()
        try:
            here = yield from downhill.begin(problem, z, 0)
        except FitError:
            return Progress(z, float("inf"), None, {}, 1, 1)
        for number in range(self.steps):
            if here.done is not None or (number >= 2 and here.value > self.patience * best.value):
                break
            here = yield from downhill.step(problem, here, 1.0)
        return here
