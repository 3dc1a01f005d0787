"""Gauss-Newton steps with Levenberg-Marquardt damping: few unknowns, very sharp."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from diffloom.interfaces import SimulationError
from diffloom_fitting.objective import Objective
from diffloom_fitting.optimisers.jacobian import jacobian
from diffloom_fitting.optimisers.optimiser import Optimiser, Progress, first_evaluation
from diffloom_fitting.optimisers.quadratic import Model

LEAST_SCALE = 1e-3


@dataclass(frozen=True)
class GaussNewton(Optimiser):
    """Solves (J'J + damping D) step = -J'r, with D the running maximum of J'J's diagonal, and at least a
    thousandth of its largest entry.

    The gradient J'r is exact, from the adjoint; the curvature J'J comes from forward differences of the residuals,
    one simulation per unknown. damping: at the start; it falls as steps succeed and grows as they fail.
    longest: damping also grows until no entry of a step is longer than this in the searched space, so that what the
    pictures hardly show stays put while what they show moves. trials: dampings tried per iteration.
    """

    damping: float = 1e-2
    longest: float = 1.0
    trials: int = 10

    def begin(self, objective: Objective, z: Tensor, seed: int) -> Progress:
        return replace(first_evaluation(objective, z), memory={"damping": self.damping, "growth": 2.0})

    def step(self, objective: Objective, progress: Progress, rate: float) -> Progress:
        gradient = progress.gradient
        assert gradient is not None
        z = progress.z
        if not bool(gradient.any()):
            return replace(progress, done="the gradient is zero")
        try:
            residuals = objective.residuals(z)
            slopes = jacobian(objective, z, residuals)
        except SimulationError as error:
            return replace(progress, done=f"a simulation beside this place failed: {error}")
        count = residuals.numel()
        # The loss is a mean of squares: its half gradient is J'r / count, its half curvature J'J / count.
        curvature = slopes @ slopes.T / count
        scale = torch.maximum(curvature.diagonal(), progress.memory.get("scale", torch.zeros_like(z)))
        # What the pictures hardly show must not be flung far: damping holds it as if it were shown a little.
        scale = scale.clamp(min=LEAST_SCALE * float(scale.max().clamp(min=1e-300)))
        return self._damped(objective, progress, Model(curvature, scale, 0.5 * gradient), z.numel() + 1, rate)

    def _damped(self, objective: Objective, progress: Progress, model: Model, spent: int, rate: float) -> Progress:
        """Try ever stronger damping until the loss falls (Nielsen's rule adapts it)."""
        damping, growth = float(progress.memory["damping"]), float(progress.memory["growth"])
        rejected = 0
        for trial in range(1, self.trials + 1):
            step = model.step(damping)
            while float(step.abs().max()) > self.longest:
                damping *= 2.0
                step = model.step(damping)
            step = rate * step
            seen = objective.evaluate(progress.z + step)
            rejected += 0 if seen.finite else 1
            gain = model.gain(progress.value, seen, step)
            if seen.finite and gain > 0.0:
                damping *= max(0.1, 1.0 - (2.0 * gain - 1.0) ** 3)
                memory = {"damping": max(damping, 1e-15), "growth": 2.0, "scale": model.scale}
                return Progress(
                    progress.z + step, seen.value, seen.gradient, memory, progress.evaluations + spent + trial,
                    progress.rejected + rejected,
                )  # fmt: skip
            damping *= growth
            growth *= 2.0
        return replace(
            progress,
            memory={"damping": damping, "growth": 2.0, "scale": model.scale},
            evaluations=progress.evaluations + spent + self.trials,
            rejected=progress.rejected + rejected,
            done="no damped step lowers the loss",
        )
