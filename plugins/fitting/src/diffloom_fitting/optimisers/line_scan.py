"""Gradient descent that scans the whole line, for motions whose gradient is valid only nearby."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor

from diffloom.interfaces import InputError, SimulationError
from diffloom_fitting.optimisers.optimiser import Optimiser, Progress, first_evaluation
from diffloom_fitting.problem import Evaluate, Problem, Search

SOFT = 1e-3  # damping, relative to the largest squared slope of a residual


@dataclass(frozen=True)
class LineScan(Optimiser):
    """Gradient descent with ``trials`` simulations along the line, of which the lowest loss is taken.

    Long motions are chaotic: the gradient gives a direction, but its range can only be tried. If no trial is lower, the
    next iteration's are shorter, down to a millionth.

    Args:
        rate: Length of the first trial in the searched space.
        factor: Ratio of the lengths of two trials.
        trials: Number of trials.
        each: True for a gradient of each residual, for losses with few of them, such as ``moments``. The line is then
            the shortest step that removes all of them (Gauss-Newton of least norm).
        scatter: True to try random directions of the same lengths if no trial is lower, instead of shorter ones.
    """

    stop_window: ClassVar[int] = 5

    rate: float = 0.1
    factor: float = 2.0
    trials: int = 8
    each: bool = False
    scatter: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (self.rate > 0.0 and self.factor > 1.0 and self.trials >= 1):
            raise InputError(
                f"line_scan: got rate={self.rate:g}, factor={self.factor:g} and trials={self.trials}; expected rate "
                "above 0, factor above 1 and at least 1 trial"
            )

    def begin(self, problem: Problem, z: Tensor, seed: int) -> Search[Progress]:
        return replace((yield from first_evaluation(problem, z)), memory={"seed": seed, "draws": 0})

    def step(self, problem: Problem, progress: Progress, rate: float) -> Search[Progress]:
        gradient = progress.gradient
        assert gradient is not None
        if not bool(gradient.any()):
            return replace(progress, done="the gradient is zero")
        if progress.memory.get("stuck"):
            return (yield from self._best_of(progress, self._scatter_trials(progress, rate)))
        line, longest = -gradient, float("inf")
        if self.each:
            try:
                ((residuals, rows),) = yield Evaluate([progress.z], "jacobian")
            except SimulationError as error:
                return replace(progress, done=f"this point cannot be simulated again: {error}")
            line = shortest_step(residuals, rows)
            longest = self.factor * float(line.norm())
            progress = replace(progress, evaluations=progress.evaluations + len(residuals))
        line = line / line.norm()
        shrunk = float(progress.memory.get("shrunk", 1.0))
        first = min(self.rate * rate * shrunk, longest / self.factor ** (self.trials - 1))
        places = [progress.z + line * length for length in self._lengths(first)]
        return (yield from self._best_of(progress, places))

    def _lengths(self, first: float) -> list[float]:
        return [first * self.factor**k for k in range(self.trials)]

    def _scatter_trials(self, progress: Progress, rate: float) -> list[Tensor]:
        """Return one point per trial, each along a random direction, with a new generator so that a resumed search
        repeats them.
        """
        seed, draws = (int(progress.memory.get(key, 0)) for key in ("seed", "draws"))
        generator = torch.Generator().manual_seed(seed * 1_000_003 + draws)
        ways = torch.randn(self.trials, progress.z.numel(), generator=generator, dtype=torch.float64)
        ways = (ways / ways.norm(dim=1, keepdim=True)).to(progress.z.dtype)
        return [progress.z + way * length for way, length in zip(ways, self._lengths(self.rate * rate), strict=True)]

    def _best_of(self, progress: Progress, places: list[Tensor]) -> Search[Progress]:
        """Return the lowest of these points, or the present one if none is lower."""
        seen, memory = (yield Evaluate(places)), progress.memory
        shrunk, draws = float(memory.get("shrunk", 1.0)), int(memory.get("draws", 0)) + bool(memory.get("stuck"))
        rejected = progress.rejected + sum(not one.finite for one in seen)
        spent = progress.evaluations + self.trials
        ranked = sorted((one.value, k) for k, one in enumerate(seen) if one.finite and one.value < progress.value)
        for _, k in ranked:
            (here,) = yield Evaluate([places[k]], "gradient")
            spent += 1
            if here.finite:
                memory = {**memory, "shrunk": min(1.0, shrunk * self.factor), "stuck": False, "draws": draws}
                return Progress(places[k], here.value, here.gradient, memory, spent, rejected)
            rejected += 1
        shrunk /= 1.0 if self.scatter else self.factor**self.trials
        memory = {**memory, "shrunk": shrunk, "stuck": self.scatter, "draws": draws}
        done = "no lower loss along the gradient" if shrunk < 1e-6 else None
        return replace(progress, memory=memory, evaluations=spent, rejected=rejected, done=done)


def shortest_step(residuals: Tensor, rows: Tensor) -> Tensor:
    """Return the shortest step s with residuals + rows s = 0, damped for small slopes.

    Args:
        residuals: (n,).
        rows: (n, unknowns), their gradients.
    """
    gram = rows @ rows.T
    damping = SOFT * float(gram.diagonal().max()) * torch.eye(len(gram), dtype=gram.dtype)
    step: Tensor = -rows.T @ torch.linalg.solve(gram + damping, residuals)
    return step
