"""Gauss-Newton steps with Levenberg-Marquardt damping: very sharp, for few unknowns and for hundreds."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from diffloom.interfaces import SimulationError
from diffloom_fitting.optimisers.jacobian import curvature, jacobian
from diffloom_fitting.optimisers.optimiser import Optimiser, Progress, first_evaluation, kept_residuals
from diffloom_fitting.optimisers.quadratic import Arrow, Curvature, Model, learned
from diffloom_fitting.problem import Evaluate, Problem, Search

LEAST_SCALE = 1e-3
FEW = 8  # so many simulations cost about as much as the iteration they may save


@dataclass(frozen=True)
class GaussNewton(Optimiser):
    """Solves (C + damping D) step = -half gradient, with D the running maximum of C's diagonal, and at least a
    thousandth of its largest entry.

    The gradient is exact, from the adjoint; the curvature C = J'J / residuals comes from forward differences of the
    residuals, one simulation per unknown. With more than a few unknowns that is costly, so C is kept as long as steps
    go well, and each step's change of the gradient is learned into it (BFGS). keep: a kept curvature is computed anew
    when the loss stays above this part of itself in a step; 0 computes it anew each time.
    width: take gradient and curvature from central differences this wide in the searched space, which see across the
    small jumps that contact makes where the exact gradient sees only the slope between two of them.
    damping: at the start; it falls as steps succeed and grows as they fail. longest: damping also grows until no
    entry of a step, own unknowns of an `Arrow` aside, is longer than this in the searched space, so that what the
    images hardly show stays put while what they show moves. trials: dampings tried per iteration. A problem with
    ``own_curvature`` is asked for half its gradient and its curvature at once, and for losses alone beside that.
    """

    damping: float = 1e-2
    longest: float = 1.0
    trials: int = 10
    keep: float = 0.7
    width: float | None = None

    def begin(self, problem: Problem, z: Tensor, seed: int) -> Search[Progress]:
        seen = yield from first_evaluation(problem, z, residuals=True, gradient=not problem.own_curvature)
        return replace(seen, memory={"damping": self.damping, "growth": 2.0})

    def renew(self, problem: Problem, progress: Progress) -> Search[Progress]:
        # A curvature of the former objective says little of this one's.
        memory = {name: value for name, value in progress.memory.items() if name != "curvature"}
        if not problem.own_curvature:
            return (yield from super().renew(problem, replace(progress, memory=memory)))
        seen = yield from first_evaluation(problem, progress.z, gradient=False)
        return replace(seen, memory=memory, evaluations=progress.evaluations + 1, rejected=progress.rejected)

    def step(self, problem: Problem, progress: Progress, rate: float) -> Search[Progress]:
        gradient = progress.gradient
        if gradient is not None and not bool(gradient.any()):
            return replace(progress, done="the gradient is zero")
        if progress.value <= problem.rounding:
            return replace(progress, done="the loss is rounding error")
        kept = progress.memory.get("curvature")
        if kept is not None and gradient is not None:
            moved = yield from self._damped(problem, progress, self._model(progress, kept, 0.5 * gradient), rate)
            if moved.done is None:
                return moved
            progress = replace(progress, evaluations=moved.evaluations, rejected=moved.rejected)
        try:
            half, bend = yield from self._differences(problem, progress)
        except SimulationError as error:
            return replace(progress, done=f"a simulation beside this place failed: {error}")
        # Residuals that had to be found again do not count: a resumed fit tells the numbers of one that was not.
        spent = bend.columns if isinstance(bend, Arrow) else progress.z.numel() * (1 if self.width is None else 2)
        progress = replace(progress, evaluations=progress.evaluations + spent)
        return (yield from self._damped(problem, progress, self._model(progress, bend, half), rate))

    def _differences(self, problem: Problem, progress: Progress) -> Search[tuple[Tensor, Curvature]]:
        """(half gradient, curvature) here."""
        if problem.own_curvature:
            (found,) = yield Evaluate([progress.z], "curvature", width=self.width)
            return found  # type: ignore[no-any-return]
        assert progress.gradient is not None
        residuals = progress.residuals
        if residuals is None:
            (residuals,) = yield Evaluate([progress.z], "residuals")
        slopes = yield from jacobian(problem, progress.z, residuals, self.width is not None, self.width)
        bend = curvature(slopes, residuals.dtype)
        if self.width is None:
            return 0.5 * progress.gradient, bend
        return slopes.to(residuals.dtype) @ residuals / residuals.numel(), bend

    def _model(self, progress: Progress, bend: Curvature, half: Tensor) -> Model:
        scale = torch.maximum(bend.diagonal(), progress.memory.get("scale", torch.zeros_like(half)))
        # An unknown that hardly shows would take huge steps: damping bounds them as if it showed a little.
        scale = scale.clamp(min=LEAST_SCALE * float(scale.max().clamp(min=1e-300)))
        return Model(bend, scale, half)

    def _damped(self, problem: Problem, progress: Progress, model: Model, rate: float) -> Search[Progress]:
        """Try ever stronger damping until the loss falls (Nielsen's rule adapts it)."""
        damping, growth = float(progress.memory["damping"]), float(progress.memory["growth"])
        rejected = 0
        for trial in range(1, self.trials + 1):
            step = model.step(damping)
            while model.longest(step) > self.longest:
                damping *= 2.0
                step = model.step(damping)
            step = rate * step
            (seen,) = yield Evaluate([progress.z + step], differentiable=not problem.own_curvature)
            gain = model.gain(progress.value, seen, step)
            # A step that does not lower the loss needs no gradient, and neither does one after which none follows.
            if seen.finite and gain > 0.0 and not problem.low_enough(seen.value) and not problem.own_curvature:
                (seen,) = yield Evaluate([seen], "gradient")
            rejected += 0 if seen.finite else 1
            if seen.finite and gain > 0.0:
                damping *= max(0.1, 1.0 - (2.0 * gain - 1.0) ** 3)
                memory = {"damping": max(damping, 1e-15), "growth": 2.0, "scale": model.scale}
                kept = self.width is None and step.numel() > FEW and seen.value <= self.keep * progress.value
                if kept and seen.gradient is not None and isinstance(model.curvature, Tensor):
                    memory["curvature"] = learned(model.curvature, step, 0.5 * seen.gradient - model.half)
                return Progress(
                    progress.z + step, seen.value, seen.gradient, memory, progress.evaluations + trial,
                    progress.rejected + rejected, residuals=(yield from kept_residuals(seen)),
                )  # fmt: skip
            damping *= growth
            growth *= 2.0
        return replace(
            progress,
            memory={"damping": damping, "growth": 2.0, "scale": model.scale},
            evaluations=progress.evaluations + self.trials,
            rejected=progress.rejected + rejected,
            done="no damped step lowers the loss",
        )
