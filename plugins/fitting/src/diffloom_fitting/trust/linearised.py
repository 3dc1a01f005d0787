"""A fit's end, linearised: residuals, their slopes, and how much of each slope is rounding."""

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

ROUNDING = 0.5  # a slope of which this share is rounding is no slope
UNEVEN = 0.3  # of a pixel's change: what it does on one side only is a switch, not a slope
CLEAN = 0.02  # and of which less than this is, is one
BESIDE = (0.0, 5.0, -5.0, 100.0, -100.0)  # steps to go where a place shows a jump instead of a slope
PROBES = 4
ROUNDS = 3
SETTLED = 0.3  # of a deviation: a smaller excess changes it by less than a twentieth


@dataclass(frozen=True)
class Linearised:
    """The residuals r of an objective around ``z`` and their slopes, with columns scaled to unit length.

    fields: residuals by view, as the loss gives them. residuals: (N,) all of them. unit: (n, N), slopes in the searched
    space divided by ``size`` (n,); zero rows where nothing but rounding is seen. rounding: (n,) share of each slope
    that is rounding. width: (n,) a natural change of each unknown in the searched space: a factor e in log space, the
    value itself or its scale in the free one. prior, pull: (n, n) precision of the Gaussian prior and its gradient,
    both weighted as in the loss; zero without one. weight: that weight. half: (n,) N / 2 times the loss's exact
    gradient, scaled like ``unit``.
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
        """(n,): whether the images depend on each entry by more than rounding."""
        return self.unit.any(dim=1)

    def parts(self) -> tuple[Tensor, ...]:
        """The slopes of each view."""
        return torch.split(self.unit, [field.numel() for field in self.fields], dim=1)


def linearise(objective: Objective, z: Tensor) -> Linearised:
    """Central differences at ``z``, two simulations for each unknown.

    The second difference of the residuals is rounding, but for a curvature that so short a step does not show; where
    it is as large as the first, the images do not depend on the unknown.
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
    # A pixel that one unknown switches counts for none: else two that do the same would seem to differ there.
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
    """The pixels' residuals at many places."""
    return replace(objective, gaussian=None).residuals_at(places)


def _slope(
    objective: Objective, z: Tensor, i: int, here: Tensor, nearest: tuple[Tensor, Tensor]
) -> tuple[Tensor, float, Tensor]:
    """(slope of the residuals along entry i, share of it that is rounding or a jump, which pixels switched), at the
    nearest place that shows a slope: a fit may well end where contact sets in a step earlier or later, and every pixel
    jumps. nearest: the residuals a step ahead and a step behind."""
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
        # Of rounding alone the first difference has a third of the variance of the second.
        uneven = ahead + behind - 2.0 * middle
        bend = float(without_jumps(uneven).double().square().sum()) / 3.0
        moved = float(change.double().square().sum())
        share = math.sqrt(bend / moved) if moved > 0.0 else math.inf
        # Slopes taken at different places agree to about their distance, and no better.
        share = max(share, 10.0 * abs(offset) * h)
        if best is None or share < best[1]:
            best = ((ahead - behind) / (2.0 * h), share, jumps(ahead - behind) | _switched(change, uneven))
        if moved == 0.0 or best[1] < CLEAN:
            break
    assert best is not None
    return best


def _switched(change: Tensor, uneven: Tensor) -> Tensor:
    """Pixels that change on one side only, but for those that hardly change at all."""
    size = change.abs()
    return (uneven.abs() > UNEVEN * size) & (size > 1e-3 * float(size.max()))


def natural_width(layout: UnknownLayout, z: Tensor) -> Tensor:
    """(n,): the size of a natural change of each entry, in the searched space."""
    parts = []
    for slot, part in zip(layout.slots, layout.split(z), strict=True):
        free = isinstance(slot.space, Free)
        parts.append(part.abs().clamp(min=1.0) if free else torch.ones_like(part))
    return torch.cat(parts).detach()


def _prior(objective: Objective, z: Tensor, count: int) -> tuple[Tensor, float]:
    """(precision in the searched space times its weight, the weight); zeros without a Gaussian prior."""
    zero = torch.zeros(z.numel(), z.numel(), dtype=z.dtype)
    if objective.gaussian is None:
        return zero, 0.0
    weight = objective.prior_weight * count
    slopes = torch.autograd.functional.jacobian(objective.prior_residuals, z.detach())
    return weight * slopes.T @ slopes, weight


def probe_curvature(objective: Objective, end: Linearised, root: Tensor, solve: Tensor) -> Tensor:
    """(n,): the part of the deviations, in scaled coordinates, that residuals beside ``z`` add to the slopes.

    A few simulations a deviation away show where the residuals are not what the slopes promise: pixels of a hard
    rasterizer switch, contact sets in at another step, single precision rounds. As a change of the estimate, that is
    an error of its own. Deviations that grow by it are probed again, as far as they then reach. root: (n, k), a root of
    the covariance in scaled coordinates. solve: (n, n), from J r to a step.
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
        if not moves:  # nothing beside it can be simulated: the deviations are those of a cliff
            return torch.as_tensor(reach)
        found = torch.stack(moves).square().mean(dim=0).sqrt()
        if bool((found <= SETTLED * reach).all()):
            break
    return torch.as_tensor(found)


def _probe(objective: Objective, end: Linearised, steps: Sequence[Tensor]) -> list[Tensor | None]:
    """The pixels' residuals after each of some steps, in scaled coordinates; None where there are none."""

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
