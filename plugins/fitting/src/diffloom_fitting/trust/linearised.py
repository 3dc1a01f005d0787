"""Linearisation of the residuals at the end of a fit, and the share of each slope that is rounding."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from diffloom.interfaces import SimulationError
from diffloom_fitting.driver import pose, run_searches
from diffloom_fitting.objective import Objective
from diffloom_fitting.optimisers.jacobian import jumps, step_size, without_jumps
from diffloom_fitting.problem import Evaluate, Search
from diffloom_fitting.unknowns import Free, UnknownLayout

ROUNDING = 0.5  # share of rounding from which on a slope is ignored
UNEVEN = 0.3  # share of a one-sided change from which on a pixel counts as switched
CLEAN = 0.02  # share of rounding below which a slope is accepted at once
BESIDE = (0.0, 5.0, -5.0, 100.0, -100.0)  # offsets, in steps, tried where the residuals jump
PROBES = 4  # simulations per round
ROUNDS = 3  # rounds of probing
SETTLED = 0.3  # excess, in deviations, below which probing stops: it changes a deviation by less than 5 %


@dataclass(frozen=True)
class Linearised:
    """Residuals r of an objective around ``z`` and their slopes, with columns scaled to unit length.

    Args:
        z: (n,), the end of the fit in the searched space.
        fields: Residuals of each view, in the shape that the loss gives them.
        residuals: (N,), all residuals.
        unit: (n, N), slopes in the searched space divided by ``size``; zero rows where only rounding is visible.
        size: (n,), norm of each slope.
        rounding: (n,), share of each slope that is rounding.
        width: (n,), natural change of each unknown in the searched space: a factor e in log space, the value or its
            scale in the free space.
        prior: (n, n), precision of the Gaussian prior, weighted as in the loss; zero without a prior.
        weight: Weight of the prior.
        half: (n,), N / 2 times the exact gradient of the loss, scaled like ``unit``.
    """

    z: Tensor
    fields: list[Tensor]
    residuals: Tensor
    unit: Tensor
    size: Tensor
    rounding: Tensor
    width: Tensor
    prior: Tensor
    weight: float
    half: Tensor

    @property
    def visible(self) -> Tensor:
        """(n,): true where the residuals depend on an entry by more than rounding."""
        return self.unit.any(dim=1)

    def parts(self) -> tuple[Tensor, ...]:
        """Return the slopes of each view."""
        return torch.split(self.unit, [field.numel() for field in self.fields], dim=1)


def linearise(objective: Objective, z: Tensor) -> Linearised:
    """Linearise an objective at ``z`` by central differences, two simulations for each unknown.

    The second difference estimates the rounding. Where it is as large as the first difference, the residuals do not
    depend on the unknown.
    """
    fields = objective.residual_fields(z)
    here = torch.cat([field.reshape(-1) for field in fields])
    slopes = torch.empty(z.numel(), here.numel(), dtype=here.dtype)
    rounding = torch.zeros(z.numel(), dtype=torch.float64)
    switched = torch.zeros_like(here, dtype=torch.bool)
    way = step_size(z.dtype) * torch.eye(z.numel(), dtype=z.dtype)
    beside = _beside(objective, [z + sign * way[i] for i in range(z.numel()) for sign in (1.0, -1.0)])
    for i in range(z.numel()):
        slopes[i], rounding[i], jumped = _slope(objective, z, i, here, (next(beside), next(beside)))
        switched |= jumped
    # Pixels that one unknown switches are ignored for all of them, or two equivalent unknowns would seem to differ.
    slopes[:, switched] = 0.0
    size = slopes.norm(dim=1)
    blind = (size == 0.0) | (rounding > ROUNDING)
    slopes[blind] = 0.0
    size = torch.where(blind, torch.ones_like(size), size)
    prior, weight = _prior(objective, z, here.numel())
    seen = objective.evaluate(z)
    gradient = torch.zeros_like(z) if seen.gradient is None else seen.gradient
    half = 0.5 * here.numel() * torch.where(blind & (prior.diagonal() == 0.0), torch.zeros_like(z), gradient) / size
    unit = slopes.div_(size[:, None])
    scaled = prior / torch.outer(size, size)
    return Linearised(z, fields, here, unit, size, rounding, natural_width(objective.layout, z), scaled, weight, half)


def _beside(objective: Objective, places: Sequence[Tensor]) -> Iterator[Tensor]:
    """Yield the pixels' residuals at several points."""
    return replace(objective, gaussian=None).residuals_at(places)


def _slope(
    objective: Objective, z: Tensor, i: int, here: Tensor, nearest: tuple[Tensor, Tensor]
) -> tuple[Tensor, float, Tensor]:
    """Differentiate the residuals by entry i at the nearest point without a jump.

    A fit may end where contact begins one step earlier or later, so that every pixel jumps.

    Args:
        objective: Objective of the fit.
        z: (n,), the end of the fit.
        i: The entry.
        here: (N,), residuals at ``z``.
        nearest: Residuals one step ahead and one step behind.

    Returns:
        The slope (N,), the share of it that is rounding or a jump, and the pixels that switched.
    """
    best: tuple[Tensor, float, Tensor] | None = None
    h = step_size(z.dtype)
    way = torch.zeros_like(z)
    way[i] = h
    for offset in BESIDE:
        centre = z + offset * way
        if offset == 0.0:
            middle, (ahead, behind) = here, nearest
        else:
            middle, ahead, behind = _beside(objective, [centre, centre + way, centre - way])
        change = without_jumps(ahead - behind)
        # For pure rounding the first difference has a third of the variance of the second.
        uneven = ahead + behind - 2.0 * middle
        bend = float(without_jumps(uneven).double().square().sum()) / 3.0
        moved = float(change.double().square().sum())
        share = math.sqrt(bend / moved) if moved > 0.0 else math.inf
        # Slopes at two points agree only to about the distance of the points.
        share = max(share, 10.0 * abs(offset) * h)
        if best is None or share < best[1]:
            best = ((ahead - behind) / (2.0 * h), share, jumps(ahead - behind) | _find_switched(change, uneven))
        if moved == 0.0 or best[1] < CLEAN:
            break
    assert best is not None
    return best


def _find_switched(change: Tensor, uneven: Tensor) -> Tensor:
    """Return the pixels that change on one side only, except those that hardly change."""
    size = change.abs()
    return (uneven.abs() > UNEVEN * size) & (size > 1e-3 * float(size.max()))


def natural_width(layout: UnknownLayout, z: Tensor) -> Tensor:
    """Return the natural change (n,) of each entry in the searched space."""
    parts = []
    for slot, part in zip(layout.slots, layout.split(z), strict=True):
        free = isinstance(slot.space, Free)
        parts.append(part.abs().clamp(min=1.0) if free else torch.ones_like(part))
    return torch.cat(parts).detach()


def _prior(objective: Objective, z: Tensor, count: int) -> tuple[Tensor, float]:
    """Return the precision in the searched space times its weight, and the weight; zeros without a Gaussian prior."""
    zero = torch.zeros(z.numel(), z.numel(), dtype=z.dtype)
    if objective.gaussian is None:
        return zero, 0.0
    weight = objective.prior_weight * count
    slopes = torch.autograd.functional.jacobian(objective.prior_residuals, z.detach())
    return weight * slopes.T @ slopes, weight


def probe_curvature(objective: Objective, end: Linearised, root: Tensor, solve: Tensor) -> Tensor:
    """Return the part of the deviations (n,), in scaled coordinates, that the slopes miss.

    Simulations one deviation away show where the residuals are not linear: pixels of a hard rasteriser switch, contact
    begins at another step, single precision rounds. Deviations that grow by this are probed again at their new size.

    Args:
        objective: Objective of the fit.
        end: The linearised end of the fit.
        root: (n, k), root of the covariance in scaled coordinates.
        solve: (n, n), map from J r to a step.
    """
    deviation = root.norm(dim=1)
    tiny = torch.finfo(deviation.dtype).tiny
    found = torch.zeros_like(deviation)
    generator = torch.Generator().manual_seed(0)
    for _ in range(ROUNDS):
        reach = (deviation.square() + found.square()).sqrt()
        grown = torch.where(deviation > 0.0, reach / deviation.clamp(min=tiny), torch.ones_like(reach))
        signs = [torch.randint(0, 2, (root.shape[1],), generator=generator) for _ in range(PROBES)]
        steps = [(root @ (each.to(root.dtype) * 2.0 - 1.0)) * grown for each in signs]
        moves = [
            solve @ (end.unit @ (beside - end.residuals - step @ end.unit))
            for step, beside in zip(steps, _probe(objective, end, steps), strict=True)
            if beside is not None
        ]
        if not moves:  # no neighbouring point can be simulated
            return torch.as_tensor(reach)
        found = torch.stack(moves).square().mean(dim=0).sqrt()
        if bool((found <= SETTLED * reach).all()):
            break
    return torch.as_tensor(found)


def _probe(objective: Objective, end: Linearised, steps: Sequence[Tensor]) -> list[Tensor | None]:
    """Return the pixels' residuals after each of some steps, in scaled coordinates; None where the simulation fails."""

    def search(z: Tensor) -> Search[Tensor | None]:
        try:
            (found,) = yield Evaluate([z], "residuals")
        except SimulationError:
            return None
        return found  # type: ignore[no-any-return]

    places = [end.z + step / end.size for step in steps]
    keys = [tuple(place.tolist()) for place in places]
    known = {tuple(end.z.tolist()): end.residuals}
    new = {key: place for key, place in zip(keys, places, strict=True) if key not in known}  # equal places once
    pixels = replace(objective, gaussian=None)
    found = run_searches([pose(pixels, search(place)) for place in new.values()])
    seen: dict[tuple[float, ...], Tensor | None] = {**known, **dict(zip(new, found, strict=True))}
    return [seen[key] for key in keys]
