"""Masses, centres and inertias of links: from parameters to the numbers of the kernels."""

from __future__ import annotations

import torch
from torch import Tensor

from diffloom.interfaces import InputError
from diffloom.transforms import unwrap_values
from diffloom_geometry.rotations import symmetric_entries, symmetric_matrices


def stretch_vectors(vectors: Tensor, along: Tensor, ratio: Tensor) -> Tensor:
    """Return vectors (..., 3) with the part along unit vectors (..., 3) multiplied by ``ratio`` (...)."""
    part = (vectors * along).sum(-1, keepdim=True)
    return vectors + (ratio[..., None] - 1.0) * part * along


def stretch_inertia(inertia: Tensor, along: Tensor, ratio: Tensor) -> Tensor:
    """Return the inertia (links, 6) about the centre of bodies stretched by ``ratio`` (links,) along ``along`` (links,
    3).

    With second moments C = tr(I)/2 1 - I and A = 1 + (ratio - 1) d d^T, the new second moments are A C A.
    """
    one = torch.eye(3, dtype=inertia.dtype)
    I = symmetric_matrices(inertia)
    moments = 0.5 * torch.einsum("nkk->n", I)[:, None, None] * one - I
    A = one + (ratio - 1.0)[:, None, None] * along[:, :, None] * along[:, None, :]
    moved = A @ moments @ A
    return symmetric_entries(torch.einsum("nkk->n", moved)[:, None, None] * one - moved)


def ten_numbers(mass: Tensor, centre: Tensor, inertia: Tensor) -> Tensor:
    """Return (links, 10): mass, first moment m c and second moments about the origin, from those about the centre c."""
    first = mass[:, None] * centre
    one = torch.eye(3, dtype=mass.dtype)
    away = (first * centre).sum(-1)[:, None, None] * one - first[:, :, None] * centre[:, None, :]
    return torch.cat([mass[:, None], first, inertia + symmetric_entries(away)], dim=1)


def from_log_cholesky(numbers: Tensor) -> Tensor:
    """Return masses and moments (links, 10) of any ten numbers (links, 10); every choice is a physical body.

    This is the log-Cholesky parameterisation of Rucker & Wensing (2022). The numbers a, d1, d2, d3, s12, s23, s13, t1,
    t2, t3 make the upper triangular U = e^a [[e^d1, s12, s13, t1], [0, e^d2, s23, t2], [0, 0, e^d3, t3], [0, 0, 0, 1]].
    U U^T holds the second moments C, the first moment and the mass of a positive distribution, and I = tr(C) 1 - C.
    """
    a, d1, d2, d3, s12, s23, s13, t1, t2, t3 = numbers.unbind(-1)
    zero, one = torch.zeros_like(a), torch.ones_like(a)
    rows = ((d1.exp(), s12, s13, t1), (zero, d2.exp(), s23, t2), (zero, zero, d3.exp(), t3), (zero, zero, zero, one))
    U = a.exp()[:, None, None] * torch.stack([torch.stack(row, dim=-1) for row in rows], dim=-2)
    J = U @ U.transpose(-1, -2)
    C = J[:, :3, :3]
    inertia = torch.einsum("nkk->n", C)[:, None, None] * torch.eye(3, dtype=numbers.dtype) - C
    return torch.cat([J[:, 3, 3, None], J[:, :3, 3], symmetric_entries(inertia)], dim=1)


def to_log_cholesky(ten: Tensor) -> Tensor:
    """Return the ten numbers (links, 10) for which from_log_cholesky gives the masses and moments ``ten`` (links, 10).

    Raises:
        InputError: A link is flat or has no mass; such a body is on the border of the physical ones.
    """
    I = symmetric_matrices(ten[:, 4:])
    one = torch.eye(3, dtype=ten.dtype)
    C = 0.5 * torch.einsum("nkk->n", I)[:, None, None] * one - I
    J = torch.cat([torch.cat([C, ten[:, 1:4, None]], 2), torch.cat([ten[:, None, 1:4], ten[:, :1, None]], 2)], 1)
    # Reversing the order of rows and columns turns U U^T into the usual L L^T.
    factor, failed = torch.linalg.cholesky_ex(J.flip((1, 2)))
    if bool(failed.any()):
        link = int(failed.nonzero()[0])
        raise InputError(f"link {link}: mass and inertia are not those of a solid body; expected a mass above 0 and a "
                         "distribution that is not flat")  # fmt: skip
    U = factor.flip((1, 2))
    U = U / U[:, 3:, 3:]
    a = 0.5 * torch.log(ten[:, 0])
    d = [torch.log(U[:, k, k]) for k in range(3)]
    return torch.stack([a, *d, U[:, 0, 1], U[:, 1, 2], U[:, 0, 2], U[:, 0, 3], U[:, 1, 3], U[:, 2, 3]], dim=1)


def check_physical(mass: Tensor, inertia: Tensor, names: tuple[str, ...]) -> None:
    """Raise InputError unless principal moments (links, 6) are those of a distribution of positive mass."""
    moments = torch.linalg.eigvalsh(symmetric_matrices(unwrap_values(inertia).double()))
    slack = 1e-6 * moments.abs().amax(-1) + 1e-15
    bad = (moments[..., 0] < -slack) | (moments[..., 0] + moments[..., 1] < moments[..., 2] - slack)
    if bool(bad.any()):
        where = tuple(bad.nonzero()[0].tolist())
        found = ", ".join(f"{m:g}" for m in moments[where].tolist())
        raise InputError(
            f"inertia: link {names[where[-1]]!r} has the principal moments {found} kg m^2; expected none below 0 "
            "and none above the sum of the other two"
        )
    if bool((unwrap_values(mass) < 0).any()):
        raise InputError(f"mass: got {float(unwrap_values(mass).min()):g}; expected no mass below 0")
