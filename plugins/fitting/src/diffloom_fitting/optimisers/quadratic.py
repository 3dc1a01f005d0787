"""The quadratic model of a loss around one place, solved for any damping at once."""

from __future__ import annotations

from functools import cached_property

import torch
from torch import Tensor

from diffloom_fitting.problem import Evaluation


class Model:
    """loss(z + s) ~ loss + 2 half.s + s' curvature s.

    curvature: (n, n); scale: (n,) positive, the diagonal that damping multiplies; half: (n,) half the gradient.
    """

    def __init__(self, curvature: Tensor, scale: Tensor, half: Tensor) -> None:
        self.curvature = curvature
        self.scale = scale
        self.half = half

    @cached_property
    def _modes(self) -> tuple[Tensor, Tensor, Tensor]:
        """Eigenvalues and eigenvectors of the scaled curvature, and the gradient in that basis."""
        root = self.scale.sqrt()
        values, vectors = torch.linalg.eigh(self.curvature / torch.outer(root, root))
        return values.clamp(min=0.0), vectors / root[:, None], vectors.T @ (self.half / root)

    def step(self, damping: float) -> Tensor:
        """-(curvature + damping diag(scale))^-1 half."""
        values, vectors, slope = self._modes
        return -vectors @ (slope / (values + damping))

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
