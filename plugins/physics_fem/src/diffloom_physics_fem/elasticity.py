"""Elasticity of a deformable solid: moduli, rest shape of tetrahedra, energies and stress."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from diffloom.interfaces import InputError
from diffloom.transforms import unwrap_values
from diffloom_geometry import take


def neo_hookean_moduli(youngs_modulus: Tensor, poisson_ratio: Tensor) -> tuple[Tensor, Tensor]:
    """Return shear modulus mu and Lame modulus lam [Pa] of the model whose small-strain limit has these E [Pa] and nu.

    With F = I + eps the energy density is 3/4 mu eps:eps + 1/2 (lam - 5/8 mu) (tr eps)^2 + O(eps^3), while linear
    elasticity has mu_L eps:eps + 1/2 lam_L (tr eps)^2: so mu = 4/3 mu_L and lam = lam_L + 5/6 mu_L (Smith et al. 2018).
    """
    mu_linear = youngs_modulus / (2.0 * (1.0 + poisson_ratio))
    lam_linear = youngs_modulus * poisson_ratio / ((1.0 + poisson_ratio) * (1.0 - 2.0 * poisson_ratio))
    return 4.0 / 3.0 * mu_linear, lam_linear + 5.0 / 6.0 * mu_linear


@dataclass(frozen=True)
class TetRestShape:
    """Rest shape of each tetrahedron. B is the inverse of the matrix of edge vectors, V the volume.

    Args:
        metric: Entries 00 01 02 11 12 22 of V B B^T, (tets, 6) [m].
        inv_det: 1/(6 V), (tets,) [1/m^3].
        volume: V, (tets,) [m^3].
    """

    metric: Tensor
    inv_det: Tensor
    volume: Tensor


def rest_shape(points: Tensor, tets: NDArray[np.int64]) -> TetRestShape:
    """Return the rest shape for rest positions (vertices, 3) [m]; InputError where a tetrahedron has no positive
    volume.
    """
    x = take(points, tets)
    d1, d2, d3 = (x[:, a] - x[:, 0] for a in (1, 2, 3))
    c1, c2, c3 = torch.linalg.cross(d2, d3), torch.linalg.cross(d3, d1), torch.linalg.cross(d1, d2)
    det = (d1 * c1).sum(dim=1)
    found = unwrap_values(det)
    bad = (found <= 0.0).nonzero().tolist()
    if bad:
        raise InputError(
            f"rest_shape: {len(bad)} tetrahedra have no positive volume, first tet {bad[0][-1]} with "
            f"{float(found[tuple(bad[0])]) / 6.0:.3g} m^3; move their vertices apart"
        )
    # B has the rows c/det, so V B B^T has the entries c_a.c_b/(6 det).
    pairs = ((c1, c1), (c1, c2), (c1, c3), (c2, c2), (c2, c3), (c3, c3))
    products = torch.stack([(a * b).sum(dim=1) for a, b in pairs], dim=1)
    return TetRestShape(products / (6.0 * det[:, None]), 1.0 / det, det / 6.0)


def rest_inverse(points: Tensor, tets: NDArray[np.int64]) -> Tensor:
    """Return the inverse (tets, 9) of the matrix of edges from corner 0 at rest, row by row [1/m]."""
    x = take(points, tets)
    d1, d2, d3 = (x[:, a] - x[:, 0] for a in (1, 2, 3))
    c1, c2, c3 = torch.linalg.cross(d2, d3), torch.linalg.cross(d3, d1), torch.linalg.cross(d1, d2)
    found: Tensor = torch.cat([c1, c2, c3], dim=1) / (d1 * c1).sum(dim=1, keepdim=True)
    return found


@dataclass(frozen=True)
class Energy:
    """Energies [J] of each frame, (frames,).

    Args:
        kinetic: Kinetic energy.
        elastic: Elastic energy, zero at rest without activation.
        gravitational: Potential energy of gravity.
        contact: Energy stored in the contact plane.
    """

    kinetic: Tensor
    elastic: Tensor
    gravitational: Tensor
    contact: Tensor

    @property
    def total(self) -> Tensor:
        """Sum of all energies: constant without damping and friction, but for the error of time stepping."""
        return self.kinetic + self.elastic + self.gravitational + self.contact


def elastic_energy(x: Tensor, rest: TetRestShape, mu: Tensor, lam: Tensor, activation: Tensor) -> Tensor:
    """Return the elastic energy (frames, tets) [J], zero at rest without activation.

    V (mu/2 (I_C - 3) + lam/2 g^2 - 3/4 mu g - mu/2 log((I_C + 1)/4)) with g = J - 1 - a: the stable neo-Hookean energy
    (Smith et al. 2018) without the constants that diverge for lam = 0.

    Args:
        x: Corners (frames, tets, 4, 3) [m].
        rest: Rest shape.
        mu: Shear modulus (tets,) [Pa].
        lam: Lame modulus (tets,) [Pa].
        activation: Relative growth a of the rest volume.

    Returns:
        Energies (frames, tets) [J].
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
    """Return the energy (frames,) [J] stored in the plane: k_e/2 of the squared depth of every particle. q: (frames, n,
    3) [m].
    """
    depth = torch.clamp(height - (q * normal).sum(dim=-1), min=0.0)
    return (0.5 * stiffness * depth * depth).sum(dim=-1)


#: Least ratio of volumes by which a stress is divided: a flat tetrahedron would have an infinite stress.
LEAST = 1e-6


def cauchy_stress(x: Tensor, rest: TetRestShape, mu: Tensor, lam: Tensor, activation: Tensor) -> Tensor:
    """Return the Cauchy stress, zero at rest without activation.

    sigma = P F^T / J with P = mu (1 - 1/(I_C + 1)) F + (lam (J - 1 - a) - 3/4 mu) cof F, and cof F F^T = J. With the
    edges Ds = [d1 d2 d3] and the metric K = V B B^T of the rest shape, F F^T = 6 w Ds K Ds^T.

    Args:
        x: Corners (frames, tets, 4, 3) [m].
        rest: Rest shape.
        mu: Shear modulus (tets,) [Pa].
        lam: Lame modulus (tets,) [Pa].
        activation: Relative growth a of the rest volume, (1 or frames, tets).

    Returns:
        Stress (frames, tets, 3, 3) [Pa].
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
    """Return the von Mises stress sqrt(3/2 s:s) with the deviatoric part s of ``sigma`` (..., 3, 3).

    It is the uniaxial tension that loads the material as much.
    """
    mean = sigma.diagonal(dim1=-2, dim2=-1).mean(dim=-1)
    apart = sigma - mean[..., None, None] * torch.eye(3, dtype=sigma.dtype, device=sigma.device)
    return (1.5 * (apart * apart).sum(dim=(-2, -1))).sqrt()
