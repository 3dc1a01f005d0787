"""How sure a fit can be of what it found: the curvature of the loss at its end, and the noise it met."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from diffloom.interfaces import InputError, SimulationError
from diffloom_fitting.correlated_noise import Noise
from diffloom_fitting.objective import Objective
from diffloom_fitting.optimisers.jacobian import jacobian

LIMIT = 32


@dataclass(frozen=True)
class Uncertainty:
    """Standard deviations of the unknowns, in their units, by name; and the spectrum of the curvature.

    deviation: each of its slot's shape. noise: the residuals' standard deviation that was assumed. condition: largest
    over smallest eigenvalue of the curvature, scaled to a unit diagonal: large when unknowns can stand in for each
    other. correlation: (n, n) between the entries of the vector. inflation: the largest factor by which pixels that err
    together widen a deviation over that of independent ones. unrest: how far the next Gauss-Newton step would move an
    unknown, in its deviations: above 1 the fit has not come to rest, and the deviations say little.
    """

    deviation: dict[str, Tensor]
    noise: float
    condition: float
    correlation: Tensor
    inflation: float = 1.0
    unrest: float = 0.0


def estimate_uncertainty(objective: Objective, z: Tensor) -> Uncertainty | str:
    """The uncertainty at ``z``, or the reason why there is none.

    With J the slopes of the residuals r in the searched space, independent pixels would give the covariance
    noise^2 (J'J)^-1, where noise^2 is the mean square of the residuals that are not exactly zero, but at least that of
    the target's grey levels. Real pixels err together with their neighbours, channels and the frames after, so the
    residuals' own correlation is measured (`Noise`), view by view, and (J'J)^-1 J R J' (J'J)^-1 counts where it is
    larger. Both are carried to the unknowns by their maps' derivatives. It is assumed that the residuals are noise,
    alike all over a video, and not a model that cannot show what is seen.
    """
    if z.numel() > LIMIT:
        return f"not computed for {z.numel()} unknowns (at most {LIMIT})"
    try:
        fields = objective.residual_fields(z)
        residuals = torch.cat([field.reshape(-1) for field in fields])
        slopes = jacobian(objective, z, residuals, central=True)
    except (InputError, SimulationError) as error:
        return str(error)
    curvature = slopes @ slopes.T
    noises = _noises(objective, fields, z.numel())
    noise = math.sqrt(sum(level * level for level in noises) / len(noises))
    size = curvature.diagonal().sqrt()
    if bool((size == 0.0).any()):
        labels = objective.layout.labels()
        unseen = [labels[i] for i in range(z.numel()) if float(size[i]) == 0.0]
        return f"the images do not depend on {', '.join(unseen)} here"
    scaled = curvature / torch.outer(size, size)
    spectrum = torch.linalg.eigvalsh(scaled)
    if float(spectrum[0]) <= 1e-13 * float(spectrum[-1]):
        return "the unknowns cannot be told apart from these frames (the curvature is singular)"
    inverse = torch.linalg.inv(scaled)
    scaled_slopes = slopes.to(residuals.dtype) / size[:, None]
    parts = scaled_slopes.split([field.numel() for field in fields], dim=1)
    alone = noise * inverse.diagonal().sqrt()
    if len(fields) > 1:  # every view has noise of its own
        scatter = sum_of([level * level * (part @ part.T) for level, part in zip(noises, parts, strict=True)])
        alone = (inverse @ scatter @ inverse).diagonal().sqrt()
    scatter = sum_of([correlated_scatter(part, field) for part, field in zip(parts, fields, strict=True)])
    sigma = torch.maximum(alone, (inverse @ scatter @ inverse).diagonal().clamp(min=0.0).sqrt())
    entries = objective.layout.split(sigma / size * _slopes(objective, z).abs())
    deviation = {s.name: p.reshape(s.shape) for s, p in zip(objective.layout.slots, entries, strict=True)}
    root = inverse.diagonal().sqrt()
    return Uncertainty(
        deviation, noise, float(spectrum[-1] / spectrum[0]), inverse / torch.outer(root, root),
        float((sigma / alone).max()), float(((inverse @ (scaled_slopes @ residuals)).abs() / sigma).max()),
    )  # fmt: skip


def _noises(objective: Objective, fields: list[Tensor], unknowns: int) -> list[float]:
    """The residuals' standard deviation in each view, at least that of its grey levels; fields: as they are scaled."""
    total, found = sum(field.numel() for field in fields), []
    for field, target in zip(fields, objective.target.by_view().values(), strict=True):
        share = field.numel() / total
        freedom = max(1.0, int((field != 0.0).sum()) - unknowns * share)
        level = target.step / math.sqrt(12.0) / math.sqrt(share * len(fields))
        found.append(math.sqrt(max(float(field.square().sum()) / freedom, level * level)))
    return found


def sum_of(matrices: list[Tensor]) -> Tensor:
    """Of matrices of one shape."""
    return matrices[0] if len(matrices) == 1 else torch.stack(matrices).sum(0)


def correlated_scatter(slopes: Tensor, field: Tensor) -> Tensor:
    """(n, n): covariance of J r for noise like the residuals ``field``; zero for what are not images, (frames,
    height, width) with or without channels, or when nothing is left over."""
    if field.dim() not in (3, 4) or not bool(field.any()):
        return slopes.new_zeros((len(slopes), len(slopes)))
    video = field[..., None] if field.dim() == 3 else field
    return Noise.of(video).scatter(slopes.to(video.dtype).reshape(len(slopes), *video.shape))


def _slopes(objective: Objective, z: Tensor) -> Tensor:
    """(n,): d unknown / d z, entry by entry."""
    point = z.detach().clone().requires_grad_(True)
    total = torch.stack([value.sum() for value in objective.layout.sought(point).values()]).sum()
    (slope,) = torch.autograd.grad(total, point)
    return slope
