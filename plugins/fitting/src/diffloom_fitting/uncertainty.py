"""How sure a fit can be of what it found: the curvature of the loss at its end."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from diffloom.interfaces import InputError, SimulationError
from diffloom_fitting.objective import Objective
from diffloom_fitting.optimisers.jacobian import jacobian

LIMIT = 32


@dataclass(frozen=True)
class Uncertainty:
    """Standard deviations of the unknowns, in their units, by name; and the spectrum of the curvature.

    deviation: each of its slot's shape. noise: the residuals' standard deviation that was assumed. condition: largest
    over smallest eigenvalue of the curvature, scaled to a unit diagonal: large when unknowns can stand in for each
    other. correlation: (n, n) between the entries of the vector.
    """

    deviation: dict[str, Tensor]
    noise: float
    condition: float
    correlation: Tensor


def estimate_uncertainty(objective: Objective, z: Tensor) -> Uncertainty | str:
    """The uncertainty at ``z``, or the reason why there is none.

    Gauss-Newton: covariance = noise^2 (J'J)^-1 in the searched space, carried to the unknowns by their maps'
    derivatives. noise^2 is the residuals' mean square, but at least that of the target's grey levels. Neighbouring
    pixels err together, so this is a lower bound for real films.
    """
    if z.numel() > LIMIT:
        return f"not computed for {z.numel()} unknowns (at most {LIMIT})"
    try:
        residuals = objective.residuals(z)
        slopes = jacobian(objective, z, residuals, central=True)
    except (InputError, SimulationError) as error:
        return str(error)
    curvature = slopes @ slopes.T
    freedom = max(1, residuals.numel() - z.numel())
    level = objective.target.step / math.sqrt(12.0)
    noise = math.sqrt(max(float(residuals.square().sum()) / freedom, level * level))
    size = curvature.diagonal().sqrt()
    if bool((size == 0.0).any()):
        labels = objective.layout.labels()
        unseen = [labels[i] for i in range(z.numel()) if float(size[i]) == 0.0]
        return f"the pictures do not depend on {', '.join(unseen)} here"
    scaled = curvature / torch.outer(size, size)
    spectrum = torch.linalg.eigvalsh(scaled)
    if float(spectrum[0]) <= 1e-13 * float(spectrum[-1]):
        return "the unknowns cannot be told apart from these frames (the curvature is singular)"
    inverse = torch.linalg.inv(scaled)
    spread = inverse.diagonal().sqrt()
    deviation_z = noise * spread / size
    slope = _slopes(objective, z)
    parts = objective.layout.split(deviation_z * slope.abs())
    deviation = {s.name: p.reshape(s.shape) for s, p in zip(objective.layout.slots, parts, strict=True)}
    return Uncertainty(deviation, noise, float(spectrum[-1] / spectrum[0]), inverse / torch.outer(spread, spread))


def _slopes(objective: Objective, z: Tensor) -> Tensor:
    """(n,): d unknown / d z, entry by entry."""
    point = z.detach().clone().requires_grad_(True)
    total = torch.stack([value.sum() for value in objective.layout.sought(point).values()]).sum()
    (slope,) = torch.autograd.grad(total, point)
    return slope
