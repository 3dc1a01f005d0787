"""What a fit is compared with: the same experiment seen or searched in another way."""

from __future__ import annotations

import math
from dataclasses import replace

from diffloom.interfaces import InputError
from diffloom_fitting.experiment import Experiment
from diffloom_fitting.losses import StateError
from diffloom_fitting.optimisers import CmaEs
from diffloom_fitting.stages import Stage

BASELINES = {
    "state": "3D states",
    "cma": "CMA-ES",
    "differences": "finite differences",
}


def as_baseline(experiment: Experiment, name: str, budget: int | None = None) -> Experiment:
    """The experiment changed into one of ``BASELINES``.

    state: the same engine and search, shown true states instead of images. cma: a search without gradients for the
    same loss from the same start, one value for what the first stage ties together, until it has simulated ``budget``
    times. differences: every gradient from forward differences instead of the adjoint.
    """
    if name == "state":
        seen = tuple(replace(stage, loss=None, loss_settings={}, renderer={}) for stage in experiment.stages)
        return replace(experiment, loss=StateError(), stages=seen)
    if name == "cma":
        if budget is None:
            raise InputError("baseline 'cma' may simulate as often as our fit did; run that first")
        return replace(experiment, stages=(_search(experiment, budget),), starts=(), probe=0)
    if name == "differences":
        return replace(experiment, differences=True)
    raise InputError(f"baseline: got {name!r}; expected one of {', '.join(BASELINES)}")


def _search(experiment: Experiment, budget: int) -> Stage:
    first = experiment.stages[0]
    tied = Stage(CmaEs(), only=None, shared=first.shared, together=first.together)
    tie = experiment.tie(tied, experiment.start(0))
    size = experiment.layout.size if tie is None else tie.size
    # Hansen's usual population for so many unknowns, and for two at least, which the search itself pads to.
    population = 4 + int(3.0 * math.log(max(2, size)))
    search = CmaEs(sigma=1.0, population=population)
    return replace(tied, optimiser=search, iterations=max(1, budget // population))
