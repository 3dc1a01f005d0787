"""L-BFGS (Liu and Nocedal 1989) with a line search by bisection for the weak Wolfe conditions."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from diffloom_fitting.optimisers.optimiser import Optimiser, Progress, first_evaluation
from diffloom_fitting.problem import Evaluate, Evaluation, Problem, Search


@dataclass(frozen=True)
class Lbfgs(Optimiser):
    """Limited-memory quasi-Newton steps, for many unknowns.

    Args:
        memory: Number of past changes of point and gradient.
        rate: Length of the first step, of steepest descent.
        longest: Largest length of a step in the searched space.
        trials: Largest number of evaluations per line search.
    """

    memory: int = 20
    rate: float = 0.1
    longest: float = 2.0
    trials: int = 20

    def begin(self, problem: Problem, z: Tensor, seed: int) -> Search[Progress]:
        return first_evaluation(problem, z)

    def renew(self, problem: Problem, progress: Progress) -> Search[Progress]:
        # Gradients of the former objective do not apply.
        return super().renew(problem, replace(progress, memory={}))

    def step(self, problem: Problem, progress: Progress, rate: float) -> Search[Progress]:
        gradient = progress.gradient
        assert gradient is not None
        moves: list[Tensor] = list(progress.memory.get("moves", []))
        turns: list[Tensor] = list(progress.memory.get("turns", []))
        direction = self._direction(gradient, moves, turns)
        slope = float(direction @ gradient)
        if not slope < 0.0:
            moves, turns, direction = [], [], self._direction(gradient, [], [])
            slope = float(direction @ gradient)
        if slope == 0.0:
            return replace(progress, memory={}, done="the gradient is zero")
        found, length, tried, rejected = yield from self._search(progress, direction, slope, rate)
        if found is None:
            done = "no lower loss along the direction of descent" if not moves else None
            # The memory may have spoilt the direction: clear it and try steepest descent next.
            spent = {"evaluations": progress.evaluations + tried, "rejected": progress.rejected + rejected}
            return replace(progress, memory={}, done=done, **spent)  # type: ignore[arg-type]
        assert found.gradient is not None
        move, turn = length * direction, found.gradient - gradient
        if float(move @ turn) > 1e-14 * float(move.norm() * turn.norm()):
            moves, turns = [*moves, move][-self.memory :], [*turns, turn][-self.memory :]
        return Progress(
            progress.z + move, found.value, found.gradient, {"moves": moves, "turns": turns},
            progress.evaluations + tried, progress.rejected + rejected,
        )  # fmt: skip

    def _direction(self, gradient: Tensor, moves: list[Tensor], turns: list[Tensor]) -> Tensor:
        """Run the two-loop recursion; without memory, return steepest descent of length ``rate``."""
        if not moves:
            return -gradient * (self.rate / max(float(gradient.norm()), 1e-300))
        q = gradient.clone()
        shares = []
        for move, turn in zip(reversed(moves), reversed(turns), strict=True):
            share = (move @ q) / (move @ turn)
            q = q - share * turn
            shares.append(share)
        q = q * ((moves[-1] @ turns[-1]) / (turns[-1] @ turns[-1]))
        for move, turn, share in zip(moves, turns, reversed(shares), strict=True):
            q = q + move * (share - (turn @ q) / (move @ turn))
        norm = float(q.norm())
        return -q if norm <= self.longest else -q * (self.longest / norm)

    def _search(
        self, progress: Progress, direction: Tensor, slope: float, rate: float
    ) -> Search[tuple[Evaluation | None, float, int, int]]:
        """Search along a direction.

        Returns:
            Evaluation (None if no step lowers the loss), step length, number of evaluations, number of non-finite ones.
        """
        low, high, length = 0.0, math.inf, rate
        best: tuple[Evaluation, float] | None = None
        rejected = 0
        for trial in range(1, self.trials + 1):
            (seen,) = yield Evaluate([progress.z + length * direction], "gradient")
            if not seen.finite or seen.value > progress.value + 1e-4 * length * slope:
                rejected += 0 if seen.finite else 1
                high = length
            else:
                assert seen.gradient is not None
                if best is None or seen.value <= best[0].value:
                    best = (seen, length)
                if float(torch.dot(seen.gradient, direction)) >= 0.9 * slope:
                    return seen, length, trial, rejected
                low = length
            length = 0.5 * (low + high) if math.isfinite(high) else 2.0 * length
            if float((length * direction).norm()) > self.longest:
                break
        return (best[0], best[1], self.trials, rejected) if best else (None, 0.0, self.trials, rejected)
