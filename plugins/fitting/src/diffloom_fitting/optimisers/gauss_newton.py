"""Gauss-Newton steps with Levenberg-Marquardt damping, for up to hundreds of unknowns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from diffloom.interfaces import SimulationError
from diffloom_fitting.optimisers.jacobian import curvature, jacobian
from diffloom_fitting.optimisers.optimiser import Optimiser, Progress, first_evaluation, keep_residuals
from diffloom_fitting.problem import Evaluate, Evaluation, Problem, Search

LEAST_SCALE = 1e-3  # smallest entry of D relative to the largest
FEW = 8  # number of unknowns up to which the curvature is computed anew in each iteration


@dataclass(frozen=True)
class Arrow:
    """Curvature in the shape of an arrow: shared unknowns, and unknowns that belong to one group of residuals each.

    Own unknowns are eliminated group by group (Schur's complement), at a cost proportional to their number.

    Args:
        shared: (m, m), by the shared unknowns, the first m entries of the vector.
        beside: (groups, m, k), by shared and own unknowns.
        own: (groups, k, k), by each group's own unknowns.
        index: (groups, k), positions of these in the vector.
    """

    shared: Tensor
    beside: Tensor
    own: Tensor
    index: Tensor

    @property
    def columns(self) -> int:
        """Number of simulations of all groups for its central differences."""
        return 2 * (len(self.shared) + self.own.shape[-1])

    def diagonal(self) -> Tensor:
        """Return the diagonal.

        Returns:
            (n,).
        """
        found = self.shared.new_zeros(len(self.shared) + self.index.numel())
        found[: len(self.shared)] = self.shared.diagonal()
        found[self.index] = self.own.diagonal(dim1=1, dim2=2)
        return found

    def __matmul__(self, vector: Tensor) -> Tensor:
        """Return the product (n,) with a vector."""
        m, own = len(self.shared), vector[self.index]
        found = torch.empty_like(vector)
        found[:m] = self.shared @ vector[:m] + torch.einsum("gmk,gk->m", self.beside, own)
        found[self.index] = torch.einsum("gmk,m->gk", self.beside, vector[:m]) + torch.einsum(
            "gkl,gl->gk", self.own, own
        )
        return found

    def solve(self, added: Tensor, right: Tensor) -> Tensor:
        """Solve (self + diag(added)) x = right.

        Args:
            added: (n,), added to the diagonal.
            right: (n,), right-hand side.

        Returns:
            x (n,).
        """
        m = len(self.shared)
        own = self.own + torch.diag_embed(added[self.index])
        outward, alone = (torch.linalg.solve(own, each) for each in (self.beside.mT, right[self.index][..., None]))
        inner = self.shared + torch.diag(added[:m]) - torch.einsum("gmk,gkn->mn", self.beside, outward)
        found = torch.empty_like(right)
        found[:m] = torch.linalg.solve(inner, right[:m] - torch.einsum("gmk,gk->m", self.beside, alone[..., 0]))
        found[self.index] = alone[..., 0] - torch.einsum("gkm,m->gk", outward, found[:m])
        return found

    def reduce(self, pulls: Tensor, own: Tensor) -> tuple[Tensor, Tensor]:
        """Eliminate the own unknowns.

        Args:
            pulls: (groups, m), half the gradient of each group's loss by the shared unknowns.
            own: (groups, k), half the gradient of each group's loss by its own unknowns.

        Returns:
            Curvature (m, m) and half gradients (groups, m) by the shared unknowns when the own ones follow them.
        """
        outward = torch.linalg.solve(self.own, self.beside.mT)
        inner = self.shared - torch.einsum("gmk,gkn->mn", self.beside, outward)
        return inner, pulls - torch.einsum("gkm,gk->gm", outward, own)


Curvature = Tensor | Arrow


class QuadraticModel:
    """Quadratic model of a loss: loss(z + s) ~ loss + 2 half.s + s' curvature s.

    Args:
        curvature: (n, n).
        scale: (n,), positive diagonal that damping multiplies.
        half: (n,), half the gradient.
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
        """Return -(curvature + damping diag(scale))^-1 half."""
        if isinstance(self.curvature, Arrow):
            return self.curvature.solve(damping * self.scale, -self.half)
        values, vectors, slope = self._modes
        return -vectors @ (slope / (values + damping))

    def longest(self, step: Tensor) -> float:
        """Return the largest entry of a step, without own unknowns of an `Arrow`."""
        part = step[: len(self.curvature.shared)] if isinstance(self.curvature, Arrow) else step
        return float(part.abs().max()) if part.numel() else 0.0

    def gain(self, value: float, seen: Evaluation, step: Tensor) -> float:
        """Return the fall of the loss relative to the predicted one; negative if the loss rose."""
        promised = -float(2.0 * self.half @ step + step @ (self.curvature @ step))
        fall = value - seen.value
        if promised <= 0.0:
            return 1.0 if fall > 0.0 else -1.0
        return fall / promised


def update_curvature(curvature: Tensor, step: Tensor, turn: Tensor) -> Tensor:
    """Update a curvature by BFGS, from a ``step`` and the change ``turn`` of half the gradient.

    A change with negative curvature is ignored.
    """
    pull = float(step @ turn)
    bent = curvature @ step
    stiff = float(step @ bent)
    if not (pull > 1e-10 * float(step.norm() * turn.norm()) and stiff > 0.0):
        return curvature
    return curvature + torch.outer(turn, turn) / pull - torch.outer(bent, bent) / stiff


@dataclass(frozen=True)
class GaussNewton(Optimiser):
    """Damped Gauss-Newton: solves (C + damping D) step = -half gradient.

    The gradient is exact, by the adjoint. C = J'J / residuals comes from forward differences, one simulation per
    unknown; with more than a few unknowns C is kept while steps succeed, and updated by BFGS. D is the running maximum
    of C's diagonal, at least a thousandth of its largest entry. A problem with ``own_curvature`` is asked for half its
    gradient and its curvature.

    Args:
        damping: Damping at the start; it falls as steps succeed and grows as they fail (Nielsen 1999).
        longest: Largest entry of a step in the searched space, which bounds unknowns that hardly change the images.
        trials: Number of dampings tried per iteration.
        keep: C is computed anew if a step leaves more than this part of the loss; 0 computes it anew each time.
        width: Step of central differences for gradient and curvature in the searched space, which average over small
            jumps by contact; None for the exact gradient.
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
        # The curvature of the former objective does not apply.
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
            moved = yield from self._take_damped_step(
                problem, progress, self._model(progress, kept, 0.5 * gradient), rate
            )
            if moved.done is None:
                return moved
            progress = replace(progress, evaluations=moved.evaluations, rejected=moved.rejected)
        try:
            half, bend = yield from self._differences(problem, progress)
        except SimulationError as error:
            return replace(progress, done=f"a simulation near this point failed: {error}")
        # Residuals that are computed again are not counted, so that a resumed fit reports the same numbers.
        spent = bend.columns if isinstance(bend, Arrow) else progress.z.numel() * (1 if self.width is None else 2)
        progress = replace(progress, evaluations=progress.evaluations + spent)
        return (yield from self._take_damped_step(problem, progress, self._model(progress, bend, half), rate))

    def _differences(self, problem: Problem, progress: Progress) -> Search[tuple[Tensor, Curvature]]:
        """Compute half the gradient and the curvature."""
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
        # A floor on the scale bounds steps of unknowns that hardly change the residuals.
        scale = scale.clamp(min=LEAST_SCALE * float(scale.max().clamp(min=1e-300)))
        return QuadraticModel(bend, scale, half)

    def _take_damped_step(
        self, problem: Problem, progress: Progress, model: QuadraticModel, rate: float
    ) -> Search[Progress]:
        """Increase the damping until the loss falls; Nielsen's rule adapts it."""
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
            # No gradient is needed for a step that does not lower the loss, or for the last step.
            if seen.finite and gain > 0.0 and not problem.low_enough(seen.value) and not problem.own_curvature:
                (seen,) = yield Evaluate([seen], "gradient")
            rejected += 0 if seen.finite else 1
            if seen.finite and gain > 0.0:
                damping *= max(0.1, 1.0 - (2.0 * gain - 1.0) ** 3)
                memory = {"damping": max(damping, 1e-15), "growth": 2.0, "scale": model.scale}
                kept = self.width is None and step.numel() > FEW and seen.value <= self.keep * progress.value
                if kept and seen.gradient is not None and isinstance(model.curvature, Tensor):
                    memory["curvature"] = update_curvature(model.curvature, step, 0.5 * seen.gradient - model.half)
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
