"""Resilient backpropagation, in the variant that takes a step back when the slope has turned and the loss has risen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import torch
from torch import Tensor

from diffloom.interfaces import InputError
from diffloom_fitting import Optimiser, Problem, Progress, Search, first_evaluation, take_step


@final
@dataclass(frozen=True)
class Rprop(Optimiser):
    """Each unknown has a step length of its own: it grows while the slope keeps its sign and shrinks when it turns.

    first: length of the first step in the searched space. grow, shrink: factors, above and below 1. longest, least:
    bounds of the length.

    C. Igel and M. Huesken, Improving the Rprop learning algorithm, NC 2000 (iRprop+).
    """

    first: float = 0.05
    grow: float = 1.2
    shrink: float = 0.5
    longest: float = 0.5
    least: float = 1e-9

    def __post_init__(self) -> None:
        if not 0.0 < self.shrink < 1.0 < self.grow:
            raise InputError(f"rprop: got shrink={self.shrink:g}, grow={self.grow:g}; expected 0 < shrink < 1 < grow")

    def begin(self, problem: Problem, z: Tensor, seed: int) -> Search[Progress]:
        return first_evaluation(problem, z)

    def step(self, problem: Problem, progress: Progress, rate: float) -> Search[Progress]:
        gradient, memory = progress.gradient, progress.memory
        assert gradient is not None
        if not bool(gradient.any()):
            return Progress(
                progress.z, progress.value, gradient, memory, progress.evaluations, progress.rejected,
                "the gradient is zero",
            )  # fmt: skip
        slope = memory.get("slope", torch.zeros_like(gradient))
        length = memory.get("length", torch.full_like(gradient, self.first))
        last = memory.get("step", torch.zeros_like(gradient))
        kept, turned = slope * gradient > 0.0, slope * gradient < 0.0
        length = torch.where(kept, self.grow * length, torch.where(turned, self.shrink * length, length))
        length = length.clamp(self.least, self.longest)
        # Where the slope has turned, the last step is taken back if it made things worse; else nothing moves.
        back = -last if progress.value > float(memory.get("value", float("inf"))) else torch.zeros_like(last)
        step = torch.where(turned, back, -rate * length * gradient.sign())
        # A slope that has turned counts as none next time, so that the shorter length is tried before it grows.
        told = {
            "slope": torch.where(turned, torch.zeros_like(gradient), gradient),
            "length": length,
            "step": torch.where(turned, torch.zeros_like(step), step),
            "value": progress.value,
        }
        return (yield from take_step(progress, step, {**memory, **told}))
