"""Smoke in plain PyTorch with autograd: the same scheme as the model "smoke", written apart from it.

Densities are (rows, columns), velocities (rows, columns, 2) at left and lower faces. Pressure by FFT: of the grid
itself where it is periodic, of the grid mirrored at both walls else.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor


def mean_of(value: Tensor, *shifts: tuple[int, int]) -> Tensor:
    """The mean of a field's neighbours at (rows, columns) away."""
    return torch.stack([value.roll((-a, -b), (0, 1)) for a, b in shifts]).mean(0)


def inner(velocity: Tensor, walls: bool) -> Tensor:
    """The velocity without what would pass a wall."""
    if not walls:
        return velocity
    mask = torch.ones_like(velocity)
    mask[:, 0, 0] = 0.0
    mask[0, :, 1] = 0.0
    return velocity * mask


def sample(field: Tensor, y: Tensor, x: Tensor, walls: bool, face: str) -> Tensor:
    """Bilinear samples at lattice coordinates; between walls held inside, where the last face is as the first."""
    rows, columns = field.shape
    if walls:
        y = y.clamp(0.0, rows - 1.0 + (face == "y"))
        x = x.clamp(0.0, columns - 1.0 + (face == "x"))
    i, j = y.detach().floor(), x.detach().floor()
    fy, fx = y - i, x - j
    i0, j0 = i.long() % rows, j.long() % columns
    i1, j1 = (i0 + 1) % rows, (j0 + 1) % columns
    lower = (1.0 - fx) * field[i0, j0] + fx * field[i0, j1]
    upper = (1.0 - fx) * field[i1, j0] + fx * field[i1, j1]
    return (1.0 - fy) * lower + fy * upper


def project(velocity: Tensor, walls: bool) -> Tensor:
    """Return the velocity without its divergence."""
    velocity = inner(velocity, walls)
    u, v = velocity.unbind(-1)
    source = u.roll(-1, 1) - u + v.roll(-1, 0) - v
    rows, columns = source.shape
    if walls:
        source = torch.cat([source, source.flip(0)])
        source = torch.cat([source, source.flip(1)], dim=1)
    coefficients = torch.fft.rfft2(source)
    ky = torch.arange(source.shape[0], dtype=u.dtype) * (2.0 * math.pi / source.shape[0])
    kx = torch.arange(coefficients.shape[1], dtype=u.dtype) * (2.0 * math.pi / source.shape[1])
    divisor = 2.0 * ky.cos()[:, None] + 2.0 * kx.cos() - 4.0
    divisor[0, 0] = 1.0
    coefficients = coefficients / divisor
    coefficients = coefficients * (torch.arange(coefficients.numel()).reshape(coefficients.shape) > 0)
    p = torch.fft.irfft2(coefficients, s=source.shape)[:rows, :columns]
    return inner(velocity - torch.stack([p - p.roll(1, 1), p - p.roll(1, 0)], dim=-1), walls)


def step(
    density: Tensor, velocity: Tensor, scale: float, lift: Tensor, keep: Tensor, walls: bool
) -> tuple[Tensor, Tensor]:
    """Density and velocity one step later. scale = dt / spacing, lift = dt buoyancy, keep: what stays of the smoke."""
    rows, columns = density.shape
    i = torch.arange(rows, dtype=density.dtype)[:, None]
    j = torch.arange(columns, dtype=density.dtype)[None, :]
    up = velocity[..., 1] + lift * mean_of(density, (0, 0), (-1, 0))
    u, v = inner(torch.stack([velocity[..., 0], up], dim=-1), walls).unbind(-1)
    across = mean_of(v, (0, 0), (0, -1), (1, 0), (1, -1))
    along = mean_of(u, (0, 0), (-1, 0), (0, 1), (-1, 1))
    moved = [
        sample(u, i - scale * across, j - scale * u, walls, "x"),
        sample(v, i - scale * v, j - scale * along, walls, "y"),
    ]
    velocity = project(torch.stack(moved, dim=-1), walls)
    u, v = velocity.unbind(-1)
    x, y = j - scale * mean_of(u, (0, 0), (0, 1)), i - scale * mean_of(v, (0, 0), (1, 0))
    return keep * sample(density, y, x, walls, "centre"), velocity


def rollout(density: Tensor, velocity: Tensor, scale: float, steps: int, walls: bool = False,
            lift: Tensor | None = None, keep: Tensor | None = None) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The state after ``steps`` steps."""
    none, all_ = torch.zeros((), dtype=density.dtype), torch.ones((), dtype=density.dtype)
    velocity = project(velocity, walls)
    for _ in range(steps):
        density, velocity = step(
            density, velocity, scale, none if lift is None else lift, all_ if keep is None else keep, walls
        )
    return density, velocity
