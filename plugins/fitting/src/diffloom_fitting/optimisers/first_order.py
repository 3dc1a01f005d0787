"""First-order methods: gradient descent with momentum, and Adam (Kingma and Ba 2015)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from diffloom_fitting.optimisers.optimiser import RETRIES, Optimiser, Progress, first_evaluation, not_finite
from diffloom_fitting.problem import Evaluate, Problem, Search
from diffloom_fitting.validation import check_real

RECOVERY = 1.25  # growth per accepted step, back to full steps after a rejection


def take_step(progress: Progress, step: Tensor, memory: dict[str, Any]) -> Search[Progress]:
    """Take a step, halved while the loss is not finite.

    Args:
        progress: State before the step.
        step: (n,), the full step.
        memory: Memory of the method; "caution" is the factor on steps, 1 at first, halved by each rejection.

    Returns:
        A search for the state after the step.
    """
    caution = float(memory.get("caution", 1.0))
    trouble: str | None = None
    for attempt in range(RETRIES):
        z = progress.z + caution * step
        (seen,) = yield Evaluate([z], "gradient")
        if seen.finite:
            grown = min(1.0, caution * RECOVERY) if attempt == 0 else caution
            return Progress(
                z, seen.value, seen.gradient, {**memory, "caution": grown}, progress.evaluations + attempt + 1,
                progress.rejected + attempt,
            )  # fmt: skip
        trouble = seen.trouble
        caution *= 0.5
    raise not_finite(f"after {RETRIES} ever smaller steps", progress.z, trouble)


@dataclass(frozen=True)
class Sgd(Optimiser):
    """Gradient descent with momentum: z <- z - rate v, v <- momentum v + gradient.

    Args:
        rate: Learning rate.
        momentum: Decay of the velocity.
        longest: Largest length of a step in the searched space.
    """

    stop_window: ClassVar[int] = 20  # the loss may rise for some steps and then fall lower

    rate: float = 0.1
    momentum: float = 0.0
    longest: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_real("sgd.rate", self.rate, above=0.0)

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


@dataclass(frozen=True)
class Adam(Optimiser):
    """Adam: steps of about ``rate`` in every direction for any gradient.

    Args:
        rate: Learning rate.
        betas: Decay of the mean and of the mean square of the gradient.
        floor: Smallest root mean square, relative to the largest entry.
    """

    stop_window: ClassVar[int] = 20  # the loss may rise for some steps and then fall lower

    rate: float = 0.1
    betas: tuple[float, float] = (0.9, 0.999)
    floor: float = 1e-12

    def __post_init__(self) -> None:
        super().__post_init__()
        check_real("adam.rate", self.rate, above=0.0)

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
        # A floor relative to the gradient, so that tiny losses do not stall.
        root = (square / (1.0 - two**count)).sqrt()
        step = -self.rate * rate * (mean / (1.0 - one**count)) / (root + self.floor * (1e-30 + root.max()))
        memory = {**progress.memory, "count": count, "mean": mean, "square": square}
        return take_step(progress, step, memory)
