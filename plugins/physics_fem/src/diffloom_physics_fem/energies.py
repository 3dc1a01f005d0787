"""Energies of a deformable solid: what its forces are the gradient of, and what a rollout conserves."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from diffloom_physics_fem.rest_shape import RestShape


@dataclass(frozen=True)
class Energy:
    """Energies [J] of each frame, (frames,)."""

    kinetic: Tensor
    elastic: Tensor
    gravitational: Tensor
    contact: Tensor

    @property
    def total(self) -> Tensor:
        """Their sum: constant without damping and friction, but for the error of time stepping."""
        return self.kinetic + self.elastic + self.gravitational + self.contact


def elastic_energy(x: Tensor, rest: RestShape, mu: Tensor, lam: Tensor, activation: Tensor) -> Tensor:
    """(frames, tets) [J], zero at rest without activation. x: corners (frames, tets, 4, 3) [m].

    V (mu/2 (I_C - 3) + lam/2 g^2 - 3/4 mu g - mu/2 log((I_C + 1)/4)) with g = J - 1 - a: the stable neo-Hookean
    energy without the constants that diverge for lam = 0.
    """
    d = x[..., 1:, :] - x[..., :1, :]
    k00, k01, k02, k11, k12, k22 = rest.metric.unbind(dim=1)
    metric = torch.stack([k00, k01, k02, k01, k11, k12, k02, k12, k22], dim=1).reshape(-1, 3, 3)
    invariant = 6.0 * rest.inv_det * torch.einsum("fead,febd,eab->fe", d, d, metric)
    g = rest.inv_det * torch.linalg.det(d) - 1.0 - activation
    shape = 0.5 * mu * (invariant - 3.0 - torch.log(0.25 * (invariant + 1.0)))
    energy: Tensor = rest.volume * (shape + 0.5 * lam * g * g - 0.75 * mu * g)
    return energy


def contact_energy(q: Tensor, normal: Tensor, height: Tensor, stiffness: Tensor) -> Tensor:
    """(frames,) [J] stored in the plane: k_e/2 of the squared depth of every particle in it. q: (frames, n, 3) [m]."""
    depth = torch.clamp(height - (q * normal).sum(dim=-1), min=0.0)
    return (0.5 * stiffness * depth * depth).sum(dim=-1)
