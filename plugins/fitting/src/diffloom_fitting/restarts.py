"""Random starts for a fit whose end does not explain the video, because it may be a minimum far from the lowest one."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from diffloom.interfaces import InputError, SimulationError
from diffloom_fitting.experiment import Experiment
from diffloom_fitting.neighbours import follow_stages
from diffloom_fitting.optimisers import FitError
from diffloom_fitting.trust.sight import measure_views
from diffloom_fitting.trust.verdict import NOISE, WELL
from diffloom_fitting.unknowns import UnknownLayout

DRAWS = 48  # number of random points of a round
FOLLOWED = 4  # number of points of a round that are followed
WIDTHS = (1.0, 3.0)  # standard deviations of the points, in natural changes of the unknowns
BATCH = 12  # number of points in one batch


def restart_if_unexplained(experiment: Experiment, z: Tensor) -> tuple[Tensor, str]:
    """Draw random points, and follow the best of them, until the fit explains the video or the rounds are used up.

    A point takes each unknown either from the best end so far or from a draw around the start, so that unknowns which
    are right already may stay.

    Args:
        experiment: The experiment; its ``restarts`` is the number of rounds.
        z: (n,), the end of the fit.

    Returns:
        The lowest end, ``z`` if none is lower, and a sentence on it.
    """
    told, tried = "", 0
    for number in range(experiment.restarts):
        if not experiment.last_objective().loss.outputs or explains_video(experiment, z):
            break
        try:
            lower = _try_round(experiment, z, number)
        except (InputError, SimulationError, FitError):
            break
        tried += 1
        z = z if lower is None else lower
    if tried:
        rounds = f"{tried} round{'s' if tried > 1 else ''} of {DRAWS} random starts"
        told = f"; the first end did not explain the video and was followed by {rounds}"
    return z, told


def explains_video(experiment: Experiment, z: Tensor) -> bool:
    """Return True if an end reproduces the video well enough to be green.

    Args:
        experiment: The experiment.
        z: (n,), the end of a fit.

    Returns:
        True if each view is explained up to noise.
    """
    seen = measure_views(experiment.last_objective(), z)
    return all(one.explained >= WELL and one.misfit <= NOISE for one in seen)


def _try_round(experiment: Experiment, z: Tensor, number: int) -> Tensor | None:
    """Return the lowest end of the best random points; None if it is not lower than ``z``."""
    whole = experiment.last_objective()
    coarse = experiment.stages[max(len(experiment.stages) - 2, 0)]
    probe = experiment.stage_objective(coarse, None, coarse.iterations - 1)
    points = draw_points(experiment.layout, experiment.start(), z, experiment.seed + 1000 * (number + 1))
    values = [seen.value for first in range(0, DRAWS, BATCH) for seen in probe.values_at(points[first : first + BATCH])]
    order = sorted(range(DRAWS), key=lambda i: (not values[i] < float("inf"), values[i]))
    best, least = None, whole.value(z).value
    for i in order[:FOLLOWED]:
        found = follow_stages(replace(experiment, stages=experiment.stages[-2:]), points[i])
        value = float("inf") if found is None else whole.value(found).value
        if found is not None and value < least:
            best, least = found, value
            if explains_video(experiment, found):
                break
    return best


def draw_points(layout: UnknownLayout, start: Tensor, end: Tensor, seed: int) -> list[Tensor]:
    """Draw points around a start; each unknown but one may stay at the end.

    Args:
        layout: Positions of the unknowns.
        start: (n,), centre of the draws.
        end: (n,), end of the fit.
        seed: Seed of the draws.

    Returns:
        DRAWS vectors (n,).
    """
    dice = torch.Generator().manual_seed(seed)
    points = []
    for number in range(DRAWS):
        width = WIDTHS[number % len(WIDTHS)]
        drawn = layout.split(start + width * torch.randn(len(start), generator=dice, dtype=torch.float64).to(start))
        anew = torch.rand(len(layout.slots), generator=dice) < 0.5
        anew[int(torch.randint(len(layout.slots), (1,), generator=dice))] = True
        parts = zip(anew, drawn, layout.split(end), strict=True)
        points.append(torch.cat([(one if new else kept).reshape(-1) for new, one, kept in parts]))
    return points
