"""Forces of a solid written down a second time, in plain PyTorch and by the deformation gradient."""

import numpy as np
import torch
from torch import Tensor

from diffloom_physics_fem.model import FemModel


def small_strain_moduli(shear_modulus: Tensor, lame_modulus: Tensor) -> tuple[Tensor, Tensor]:
    """Return Young's modulus [Pa] and Poisson's ratio of the model with these mu and lam [Pa] at small strain."""
    mu_linear = 0.75 * shear_modulus
    lam_linear = lame_modulus - 0.625 * shear_modulus
    total = lam_linear + mu_linear
    return mu_linear * (3.0 * lam_linear + 2.0 * mu_linear) / total, 0.5 * lam_linear / total


def gradients_of_deformation(model: FemModel, q: Tensor, rest: Tensor) -> tuple[Tensor, Tensor]:
    """F (tets, 3, 3) and the inverse rest matrix B."""
    tets = torch.from_numpy(model.mesh.tets)
    edges = [x[tets[:, 1:]] - x[tets[:, :1]] for x in (q, rest)]
    inverse = torch.linalg.inv(edges[1].transpose(1, 2))
    return edges[0].transpose(1, 2) @ inverse, inverse


def reference_force(
    model: FemModel,
    q: Tensor,
    u: Tensor,
    shear_modulus: Tensor,
    lame_modulus: Tensor,
    damping: Tensor,
    activation: Tensor,
    rest_shape: Tensor,
) -> Tensor:
    """(vertices, 3) [N], from the first Piola stress of the energy as published and the damping stress F S."""
    F, B = gradients_of_deformation(model, q, rest_shape)
    rate, _ = gradients_of_deformation(model, u, rest_shape)
    mu, lam, k, a = (p[:, None, None] for p in (shear_modulus, lame_modulus, damping, activation))
    invariant = (F * F).sum(dim=(1, 2))[:, None, None]
    J = torch.linalg.det(F)[:, None, None]
    alpha = 1.0 + mu / lam - mu / (4.0 * lam) + a
    cofactor = torch.stack([torch.linalg.cross(F[:, :, (c + 1) % 3], F[:, :, (c + 2) % 3]) for c in range(3)], dim=2)
    green = 0.5 * (F.transpose(1, 2) @ rate + rate.transpose(1, 2) @ F)
    P = mu * (1.0 - 1.0 / (invariant + 1.0)) * F + lam * (J - alpha) * cofactor + k * (F @ green)
    volume = 1.0 / (6.0 * torch.linalg.det(B))
    H = -volume[:, None, None] * (P @ B.transpose(1, 2))
    tets = torch.from_numpy(model.mesh.tets)
    force = torch.zeros_like(q)
    for corner in range(3):
        force = force.index_add(0, tets[:, corner + 1], H[:, :, corner])
    return force.index_add(0, tets[:, 0], -H.sum(dim=2))


def random_case(model: FemModel, seed: int = 0, disorder: float = 0.15) -> dict[str, Tensor]:
    """Positions, velocities, material and rest shape of a solid bent out of shape at random, all float64."""
    rng = np.random.default_rng(seed)
    x = model.mesh.vertices
    size = float(np.cbrt(model.mesh.volumes.mean() * 6.0))

    def spread_about(value: float) -> Tensor:
        return torch.tensor(value * rng.uniform(0.5, 1.5, len(model.mesh.tets)))

    return {
        "q": torch.tensor(x + disorder * size * rng.normal(size=x.shape)),
        "u": torch.tensor(rng.normal(size=x.shape)),
        "shear_modulus": spread_about(1e4),
        "lame_modulus": spread_about(3e4),
        "damping": spread_about(50.0),
        "activation": torch.tensor(rng.uniform(-0.3, 0.3, len(model.mesh.tets))),
        "rest_shape": torch.tensor(x + 0.03 * size * rng.normal(size=x.shape)),
    }
