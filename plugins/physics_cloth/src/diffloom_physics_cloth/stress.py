"""Elastic stress of a thin shell within its faces."""

from __future__ import annotations

import math
from numbers import Real

import torch
from torch import Tensor

from diffloom.interfaces import InputError
from diffloom_geometry import Indices, assemble

#: Smallest ratio of areas in a division, because a face that is crushed to a line has no finite stress.
LEAST = 1e-6


def check_sheet_thickness(thickness: object) -> float | None:
    """Return the thickness of a sheet [m] as a number, or None if it is unknown."""
    if thickness is None:
        return None
    if isinstance(thickness, bool) or not isinstance(thickness, Real) or not 0.0 < float(thickness) < math.inf:
        raise InputError(f"thickness: got {thickness!r}; expected a length above 0 [m], or None where it is not known")
    return float(thickness)


def principal_stresses(
    x: Tensor, edges: Tensor, mu: Tensor, lam: Tensor, activation: Tensor, normal: Tensor | None
) -> Tensor:
    """Return the principal stresses (frames, faces, 2) [N/m], the larger one first; zero at rest without activation.

    With F = [Fu Fv] and C = F^T F, the stress P F^T / J has the eigenvalues s c_i / J + g for the eigenvalues c_i of C,
    where s = mu (1 - 1/(tr C + 1)) and g = lam (J - 1 - a) - 2/3 mu.

    Args:
        x: Corners (frames, faces, 3, 3) [m].
        edges: Inverse rest edges, as in SheetRestShape.
        mu: Shear modulus [N/m].
        lam: Lame modulus [N/m].
        activation: Growth of the rest area, (1 or frames, faces).
        normal: Normal of the plane of a planar shell, whose faces may be inverted; otherwise None.
    """
    d1, d2 = x[..., 1, :] - x[..., 0, :], x[..., 2, :] - x[..., 0, :]
    b0, b1, b2 = edges.unbind(dim=1)
    u = d1 * b0[:, None]
    v = d1 * b1[:, None] + d2 * b2[:, None]
    area = torch.linalg.cross(u, v)
    ratio = area.norm(dim=-1) if normal is None else (area * normal).sum(dim=-1)
    safe = torch.where(ratio.abs() < LEAST, torch.full_like(ratio, LEAST), ratio)
    uu, vv, uv = (u * u).sum(-1), (v * v).sum(-1), (u * v).sum(-1)
    mean, apart = 0.5 * (uu + vv), (0.25 * (uu - vv) ** 2 + uv * uv).sqrt()
    shape = mu * (1.0 - 1.0 / (2.0 * mean + 1.0)) / safe
    pressure = lam * (ratio - 1.0 - activation) - 2.0 / 3.0 * mu
    both = torch.stack([shape * (mean + apart) + pressure, shape * (mean - apart) + pressure], dim=-1)
    return both.sort(dim=-1, descending=True).values


def von_mises(principal: Tensor) -> Tensor:
    """Return sqrt(a^2 - a b + b^2) of principal stresses (..., 2) in plane stress."""
    a, b = principal.unbind(dim=-1)
    return (a * a - a * b + b * b).clamp(min=0.0).sqrt()


def average_at_vertices(values: Tensor, area: Tensor, faces: Indices, count: int) -> Tensor:
    """Return the mean (frames, vertices) of the faces around each vertex, weighted by area; NaN without a face.

    Args:
        values: Values (frames, faces).
        area: Areas (faces,) [m^2].
        faces: Triangles (F, 3).
        count: Number of vertices.
    """
    around = assemble(area[:, None].expand(-1, 3), faces, count)
    rows = [assemble((row * area)[:, None].expand(-1, 3), faces, count) for row in values]
    return torch.stack(rows) / torch.where(around > 0.0, around, torch.full_like(around, torch.nan))
