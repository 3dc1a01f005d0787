"""The elastic stress of a deformable solid: what its tetrahedra carry."""

from __future__ import annotations

import torch
from torch import Tensor

from diffloom_physics_fem.rest_shape import RestShape

#: Least ratio of volumes by which a stress is divided: a tetrahedron that is crushed flat has no finite one.
LEAST = 1e-6


def cauchy_stress(x: Tensor, rest: RestShape, mu: Tensor, lam: Tensor, activation: Tensor) -> Tensor:
    """(frames, tets, 3, 3) [Pa], zero at rest without activation.

    x: corners (frames, tets, 4, 3) [m]. activation: (1 or frames, tets).

    sigma = P F^T / J with P = mu (1 - 1/(I_C + 1)) F + (lam (J - 1 - a) - 3/4 mu) cof F, and cof F F^T = J. With the
    edges Ds = [d1 d2 d3] and the metric K = V B B^T of the rest shape, F F^T = 6 w Ds K Ds^T.
    """
    d = x[..., 1:, :] - x[..., :1, :]
    k00, k01, k02, k11, k12, k22 = rest.metric.unbind(dim=1)
    metric = torch.stack([k00, k01, k02, k01, k11, k12, k02, k12, k22], dim=1).reshape(-1, 3, 3)
    left = 6.0 * rest.inv_det[:, None, None] * torch.einsum("feai,febj,eab->feij", d, d, metric)
    ratio = rest.inv_det * torch.linalg.det(d)
    safe = torch.where(ratio.abs() < LEAST, torch.full_like(ratio, LEAST), ratio)
    invariant = left.diagonal(dim1=-2, dim2=-1).sum(dim=-1)
    shape = mu * (1.0 - 1.0 / (invariant + 1.0)) / safe
    pressure = lam * (ratio - 1.0 - activation) - 0.75 * mu
    eye = torch.eye(3, dtype=x.dtype, device=x.device)
    sigma: Tensor = shape[..., None, None] * left + pressure[..., None, None] * eye
    return sigma


def von_mises(sigma: Tensor) -> Tensor:
    """sqrt(3/2 s:s) with s the part of ``sigma`` (..., 3, 3) that changes shape: one number for how hard a material is
    loaded, the tension that would load it as much."""
    mean = sigma.diagonal(dim1=-2, dim2=-1).mean(dim=-1)
    apart = sigma - mean[..., None, None] * torch.eye(3, dtype=sigma.dtype, device=sigma.device)
    return (1.5 * (apart * apart).sum(dim=(-2, -1))).sqrt()
