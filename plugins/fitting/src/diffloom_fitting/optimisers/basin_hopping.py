"""Basin hopping: leap from the best place, run downhill, keep what is better."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from diffloom_fitting.optimisers.gauss_newton import GaussNewton
from diffloom_fitting.optimisers.optimiser import FitError, Optimiser, Progress, first_evaluation
from diffloom_fitting.problem import Problem, Search


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

    def begin(self, problem: Problem, z: Tensor, seed: int) -> Search[Progress]:
        return replace((yield from first_evaluation(problem, z)), memory={"seed": seed, "leaps": 0})

    def step(self, problem: Problem, progress: Progress, rate: float) -> Search[Progress]:
        leaps = int(progress.memory["leaps"])
        # A generator of its own for each leap: a resumed search leaps to the same places.
        generator = torch.Generator().manual_seed(int(progress.memory["seed"]) * 1_000_003 + leaps)
        size = progress.z.numel()
        drawn = torch.rand(1 + size, generator=generator, dtype=torch.float64)
        scales = 10.0 ** (-2.0 * drawn[0] - drawn[1:])
        noise = torch.randn(size, generator=generator, dtype=torch.float64)
        # The first descent is from the place itself.
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
