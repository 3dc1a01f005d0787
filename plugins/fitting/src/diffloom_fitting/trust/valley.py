"""Probes at some distance from the end of a fit: where contact dents the loss, slopes at the end see only the dent."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from diffloom.interfaces import SimulationError
from diffloom_fitting.objective import Objective
from diffloom_fitting.trust.linearised import Linearised

MOST = 12  # largest number of unknowns
SIZES = (0.01, 0.03, 0.1)  # distances of the probes, in natural changes


def list_probes(end: Linearised, inverse: Tensor) -> list[tuple[int, Tensor]]:
    """List points at several distances along each unknown, where the rest follows by the slopes at the end.

    Args:
        end: The linearised end of the fit.
        inverse: (n, n), inverse of the curvature in scaled coordinates.

    Returns:
        Unknown and point (n,) of each probe; none for too many unknowns.
    """
    found: list[tuple[int, Tensor]] = []
    plain = inverse / torch.outer(end.size, end.size)
    for i in range(len(end.z) if len(end.z) <= MOST else 0):
        if not float(plain[i, i]) > 0.0:
            continue
        way = plain[:, i] / plain[i, i] * end.width[i]
        for distance in SIZES:
            # A probe that carries another unknown farther than its own natural change says nothing.
            if float((distance * way / end.width).abs().max()) <= 1.0:
                found += [(i, end.z + sign * distance * way) for sign in (1.0, -1.0)]
    return found


def measure_valley(objective: Objective, end: Linearised, inverse: Tensor, noise: float) -> Tensor:
    """Return by how much each deviation is wider than the curvature at the end says, at least 1.

    The loss at a probe bounds the profile likelihood: a deviation is at least the distance over the root of the rise of
    the squared residuals, in units of the noise.

    Args:
        objective: Objective of the fit.
        end: The linearised end of the fit.
        inverse: (n, n), inverse of the curvature in scaled coordinates.
        noise: Standard deviation of independent pixels.

    Returns:
        (n,), factors.
    """
    times = torch.ones_like(end.size)
    probes = list_probes(end, inverse) if noise > 0.0 and objective.loss.outputs else []
    if not probes:
        return times
    count = end.residuals.numel()
    try:
        here, *values = objective.values_at([end.z, *(place for _, place in probes)])
    except SimulationError:
        return times
    # The mean of both sides, because a fit that stopped early stands on a slope.
    for (i, place), ahead, behind in zip(probes[::2], values[::2], values[1::2], strict=True):
        deviation = noise * math.sqrt(float(inverse[i, i])) / float(end.size[i])
        distance = abs(float(place[i] - end.z[i]))
        seen = 0.5 * (ahead.value + behind.value)
        if distance > deviation and math.isfinite(seen):
            rise = max((seen - here.value) * count / noise**2, 1.0)
            times[i] = max(float(times[i]), distance / math.sqrt(rise) / deviation)
    return times
