"""Gauss-Newton steps with Levenberg-Marquardt damping: very sharp, for few unknowns and for hundreds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from diffloom.interfaces import SimulationError
from diffloom_fitting.optimisers.jacobian import curvature, jacobian
from diffloom_fitting.optimisers.optimiser import Optimiser, Progress, first_evaluation, keep_residuals
from diffloom_fitting.problem import Evaluate, Evaluation, Problem, Search

LEAST_SCALE = 1e-3
FEW = 8  # so many simulations cost about as much as the iteration they may save


@dataclass(frozen=True)
class Arrow:
    """A curvature in the shape of an arrow: unknowns that all groups of residuals share, and each group's own.

    Own unknowns are taken out group by group (Schur's complement), so that their number costs time in proportion only.

    Args:
        shared: (m, m) by the shared unknowns, the first m entries of the vector.
        beside: (groups, m, k) by shared and own ones.
        own: (groups, k, k) by each group's own.
        index: (groups, k) where these lie in the vector.
    """

    shared: Tensor
    beside: Tensor
    own: Tensor
    index: Tensor

    @property
    def columns(self) -> int:
        """How many simulations its central differences take, of all groups at once."""
        return 2 * (len(self.shared) + self.own.shape[-1])

    def diagonal(self) -> Tensor:
        """(n,)."""
        found = self.shared.new_zeros(len(self.shared) + self.index.numel())
        found[: len(self.shared)] = self.shared.diagonal()
        found[self.index] = self.own.diagonal(dim1=1, dim2=2)
        return found

    def __matmul__(self, vector: Tensor) -> Tensor:
        """(n,): the product with a vector."""
        m, own = len(self.shared), vector[self.index]
        found = torch.empty_like(vector)
        found[:m] = self.shared @ vector[:m] + torch.einsum("gmk,gk->m", self.beside, own)
        found[self.index] = torch.einsum("gmk,m->gk", self.beside, vector[:m]) + torch.einsum(
            "gkl,gl->gk", self.own, own
        )
        return found

    def solve(self, added: Tensor, right: Tensor) -> Tensor:
        """(n,): the solution of (self + diag(added)) x = right."""
        m = len(self.shared)
        own = self.own + torch.diag_embed(added[self.index])
        outward, alone = (torch.linalg.solve(own, each) for each in (self.beside.mT, right[self.index][..., None]))
        inner = self.shared + torch.diag(added[:m]) - torch.einsum("gmk,gkn->mn", self.beside, outward)
        found = torch.empty_like(right)
        found[:m] = torch.linalg.solve(inner, right[:m] - torch.einsum("gmk,gk->m", self.beside, alone[..., 0]))
        found[self.index] = alone[..., 0] - torch.einsum("gkm,m->gk", outward, found[:m])
        return found

    def reduce(self, pulls: Tensor, own: Tensor) -> tuple[Tensor, Tensor]:
        """((m, m), (groups, m)): curvature and half gradients by the shared unknowns when own ones follow them.

        Args:
            pulls: (groups, m) half the gradient of each group's loss by the shared unknowns.
            own: (groups, k) the same by its own.
        """
        outward = torch.linalg.solve(self.own, self.beside.mT)
        inner = self.shared - torch.einsum("gmk,gkn->mn", self.beside, outward)
        return inner, pulls - torch.einsum("gkm,gk->gm", outward, own)


Curvature = Tensor | Arrow


class QuadraticModel:
    """loss(z + s) ~ loss + 2 half.s + s' curvature s.

    curvature: (n, n); scale: (n,) positive, the diagonal that damping multiplies; half: (n,) half the gradient.
    """

    def __init__(self, curvature: Curvature, scale: Tensor, half: Tensor) -> None:
        self.curvature = curvature
        self.scale = scale
        self.half = half

    @cached_property
    def _modes(self) -> tuple[Tensor, Tensor, Tensor]:
        """Eigenvalues and eigenvectors of the scaled curvature, and the gradient in that basis."""
        assert isinstance(self.curvature, Tensor)
        root = self.scale.sqrt()
        values, vectors = torch.linalg.eigh(self.curvature / torch.outer(root, root))
        return values.clamp(min=0.0), vectors / root[:, None], vectors.T @ (self.half / root)

    def step(self, damping: float) -> Tensor:
        """-(curvature + damping diag(scale))^-1 half."""
        if isinstance(self.curvature, Arrow):
            return self.curvature.solve(damping * self.scale, -self.half)
        values, vectors, slope = self._modes
        return -vectors @ (slope / (values + damping))

    def longest(self, step: Tensor) -> float:
        """The largest entry of a step, without those of single groups' own unknowns."""
        part = step[: len(self.curvature.shared)] if isinstance(self.curvature, Arrow) else step
        return float(part.abs().max()) if part.numel() else 0.0

    def gain(self, value: float, seen: Evaluation, step: Tensor) -> float:
        """The loss's fall from ``value`` as a share of what this model promised; negative when it rose."""
        promised = -float(2.0 * self.half @ step + step @ (self.curvature @ step))
        fall = value - seen.value
        if promised <= 0.0:
            return 1.0 if fall > 0.0 else -1.0
        return fall / promised


def learned(curvature: Tensor, step: Tensor, turn: Tensor) -> Tensor:
    """The curvature nearest to ``curvature`` that explains how a ``step`` turned the half gradient by ``turn`` (BFGS).

    A turn that would bend the model downwards teaches nothing.
    """
    pull = float(step @ turn)
    bent = curvature @ step
    stiff = float(step @ bent)
    if not (pull > 1e-10 * float(step.norm() * turn.norm()) and stiff > 0.0):
        return curvature
    return curvature + torch.outer(turn, turn) / pull - torch.outer(bent, bent) / stiff


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

    def _model(self, progress: Progress, bend: Curvature, half: Tensor) -> QuadraticModel:
        scale = torch.maximum(bend.diagonal(), progress.memory.get("scale", torch.zeros_like(half)))
        # An unknown that hardly shows would take huge steps: damping bounds them as if it showed a little.
        scale = scale.clamp(min=LEAST_SCALE * float(scale.max().clamp(min=1e-300)))
        return QuadraticModel(bend, scale, half)

    def _damped(self, problem: Problem, progress: Progress, model: QuadraticModel, rate: float) -> Search[Progress]:
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
                    progress.rejected + rejected, residuals=(yield from keep_residuals(seen)),
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
