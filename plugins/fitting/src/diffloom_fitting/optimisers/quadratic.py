"""The quadratic model of a loss around one place, solved for any damping at once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from diffloom_fitting.problem import Evaluation


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


class Model:
    """loss(z + s) ~ loss + 2 half.s + s' curvature s.

    curvature: (n, n) or an Arrow; scale: (n,) positive, the diagonal that damping multiplies; half: (n,) half the
    gradient.
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
