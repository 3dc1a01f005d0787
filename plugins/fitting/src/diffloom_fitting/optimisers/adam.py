"""Adam (Kingma and Ba 2015)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from diffloom_fitting.optimisers.descent import take_step
from diffloom_fitting.optimisers.optimiser import Optimiser, Progress, first_evaluation
from diffloom_fitting.problem import Problem, Search
from diffloom_fitting.validation import real


@dataclass(frozen=True)
class Adam(Optimiser):
    """Steps of about ``rate`` in every direction, whatever the gradient's size. betas: memory of mean and square."""

    stop_window: ClassVar[int] = 20  # the loss may rise for some steps and then fall lower

    rate: float = 0.1
    betas: tuple[float, float] = (0.9, 0.999)
    floor: float = 1e-12

    def __post_init__(self) -> None:
        super().__post_init__()
        real("adam.rate", self.rate, above=0.0)

    def begin(self, problem: Problem, z: Tensor, seed: int) -> Search[Progress]:
        return first_evaluation(problem, z)

    def step(self, problem: Problem, progress: Progress, rate: float) -> Search[Progress]:
        gradient = progress.gradient
        assert gradient is not None
        zero = torch.zeros_like(gradient)
        count = int(progress.memory.get("count", 0)) + 1
        one, two = self.betas
        mean = one * progress.memory.get("mean", zero) + (1.0 - one) * gradient
        square = two * progress.memory.get("square", zero) + (1.0 - two) * gradient.square()
        # The floor is relative to the gradient's own size, so that tiny losses do not stall.
        root = (square / (1.0 - two**count)).sqrt()
        step = -self.rate * rate * (mean / (1.0 - one**count)) / (root + self.floor * (1e-30 + root.max()))
        memory = {**progress.memory, "count": count, "mean": mean, "square": square}
        return take_step(progress, step, memory)
