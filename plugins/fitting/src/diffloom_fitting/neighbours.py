"""Search for a lower minimum beside the end of a fit: contact that begins earlier or later makes many of them."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from diffloom.interfaces import InputError, SimulationError
from diffloom_fitting.experiment import Experiment
from diffloom_fitting.loop import MultiStart, begin, find_best_outcome
from diffloom_fitting.objective import Objective
from diffloom_fitting.optimisers import FitError, GaussNewton
from diffloom_fitting.stages import Stage, Stop
from diffloom_fitting.trust.linearised import linearise
from diffloom_fitting.trust.valley import MOST, list_probes
from diffloom_fitting.unknowns import UnknownLayout

ROUNDS = 6  # largest number of lower minima in a row
ITERATIONS = 15  # iterations of Gauss-Newton from a probe
REFINED = 2  # number of probes that are followed


def find_lower_minimum(experiment: Experiment, z: Tensor) -> tuple[Tensor, str]:
    """Probe along each unknown, with the rest following by the slopes at the end, and follow the best probes.

    Where contact makes the loss rough, Gauss-Newton ends in small dents of a long valley. The slopes there point along
    the valley: probes at some distance see past the dents.

    Args:
        experiment: The experiment.
        z: (n,), the end of the fit.

    Returns:
        The lowest minimum that was found, ``z`` if there is none lower by more than noise, and a sentence on it.
    """
    objective = experiment.last_objective()
    told = ""
    if not 0 < z.numel() <= MOST or not objective.loss.outputs or objective.scene.policy is not None:
        return z, told
    for _ in range(ROUNDS):
        try:
            lower = _step_over(experiment, objective, z)
        except (InputError, SimulationError, FitError):
            return z, told
        if lower is None:
            return z, told
        told = f"; a lower minimum was found beside it, where {_describe_change(objective.layout, z, lower)}"
        z = lower
    return z, told


def _step_over(experiment: Experiment, objective: Objective, z: Tensor) -> Tensor | None:
    """Return a lower minimum near ``z``; None if there is none."""
    here = objective.value(z).value
    if here <= objective.rounding:
        return None
    end = linearise(objective, z)
    least = here * (1.0 - 1.0 / end.residuals.numel())
    inverse = torch.linalg.pinv(end.unit @ end.unit.T + end.prior, hermitian=True)
    places = [place for _, place in list_probes(end, inverse)]
    values = [seen.value for seen in objective.values_at(places)]
    order = sorted((i for i, value in enumerate(values) if value < least), key=lambda i: values[i])
    for i in order[:REFINED]:
        found = _follow(experiment, places[i])
        if found is not None and objective.value(found).value < least:
            return found
    return None


def _follow(experiment: Experiment, z: Tensor) -> Tensor | None:
    """Return the end of a few iterations of Gauss-Newton from ``z``, for the loss of the last stage."""
    last = experiment.stages[-1]
    stage = Stage(GaussNewton(), ITERATIONS, stop=Stop(change=1e-9, patience=3), loss=last.loss, drawn_by=last.drawn_by)
    return follow_stages(replace(experiment, stages=(stage,)), z)


def follow_stages(experiment: Experiment, z: Tensor) -> Tensor | None:
    """Run the stages of an experiment from a point, without further starts.

    Args:
        experiment: The experiment.
        z: (n,), the point.

    Returns:
        (n,), the end; None if there is none.
    """
    alone = replace(experiment, starts=(), probe=0, restarts=0)
    state, starts = replace(begin(alone), z=z), MultiStart(alone)
    while not state.finished:
        state, _ = starts.advance(state)
    outcome = find_best_outcome(state)
    return None if outcome is None else outcome.z


def _describe_change(layout: UnknownLayout, before: Tensor, after: Tensor) -> str:
    """Describe the unknown that differs most between two minima."""
    i = int((after - before).abs().argmax())
    first, second = (torch.cat([v.reshape(-1) for v in layout.sought(z).values()]) for z in (before, after))
    return f"{layout.labels()[i]} is {float(second[i]):.4g} in place of {float(first[i]):.4g}"
