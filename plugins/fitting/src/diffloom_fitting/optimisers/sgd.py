"""Gradient descent with momentum."""

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
class Sgd(Optimiser):
    """z <- z - rate v, v <- momentum v + gradient. longest: no step is longer than this in the searched space."""

    stop_window: ClassVar[int] = 20  # the loss may rise for some steps and then fall lower

    rate: float = 0.1
    momentum: float = 0.0
    longest: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        real("sgd.rate", self.rate, above=0.0)

    def begin(self, problem: Problem, z: Tensor, seed: int) -> Search[Progress]:
        return first_evaluation(problem, z)

    def step(self, problem: Problem, progress: Progress, rate: float) -> Search[Progress]:
        gradient = progress.gradient
        assert gradient is not None
        velocity = self.momentum * progress.memory.get("velocity", torch.zeros_like(gradient)) + gradient
        step = -self.rate * rate * velocity
        length = float(step.norm())
        if length > self.longest:
            step = step * (self.longest / length)
        return take_step(progress, step, {**progress.memory, "velocity": velocity})
