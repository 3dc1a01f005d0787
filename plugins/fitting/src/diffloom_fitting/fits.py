"""Run a fit: the one function most people need."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import ModuleType

import torch
from torch import Tensor

from diffloom_fitting.experiment import Experiment
from diffloom_fitting.gradient_check import GradientCheck, check_gradient
from diffloom_fitting.loop import FitState, Record, advance, begin, best_outcome
from diffloom_fitting.losses import Loss, PixelError
from diffloom_fitting.optimisers import FitError, GaussNewton, Optimiser
from diffloom_fitting.result import Estimate, Result
from diffloom_fitting.scene import Scene
from diffloom_fitting.stages import Stage, Stop
from diffloom_fitting.targets import Target
from diffloom_fitting.targets.several import AnyTarget, as_targets
from diffloom_fitting.uncertainty import Uncertainty, estimate_uncertainty
from diffloom_fitting.unknowns import Unknown

resource: ModuleType | None
try:
    resource = importlib.import_module("resource")
except ImportError:  # not on Windows
    resource = None

Observer = Callable[[FitState, Record], None]
Sought = Mapping[str, object] | Sequence[Unknown | str]


def fit(
    scene: Scene, target: AnyTarget | Mapping[str, Target], unknowns: Sought, *, loss: Loss | None = None,
    optimiser: Optimiser | None = None, iterations: int = 30, stop: Stop | None = None, seed: int = 0,
    observer: Observer | None = None,
) -> Result:  # fmt: skip
    """Find the ``unknowns`` of ``scene`` with which it looks like ``target``.

    target: of a scene with several cameras ``Targets`` or a mapping, one by each label. unknowns: starts by name, such
    as {"density": 2.0}, or a list of ``Unknown``. loss: pixel error unless given.
    optimiser: Gauss-Newton unless given. For stages, schedules, held-out frames and several starts make an
    ``Experiment`` and call ``run_fit``.
    """
    stage = Stage(optimiser or GaussNewton(), iterations, stop=stop or Stop(change=1e-9, patience=3))
    experiment = Experiment(scene, as_targets(target), as_unknowns(unknowns), loss or PixelError(), (stage,), seed=seed)
    return run_fit(experiment, observer=observer)


def as_unknowns(sought: Sought) -> tuple[Unknown, ...]:
    """A list of ``Unknown`` from any of the short forms."""
    if isinstance(sought, Mapping):
        return tuple(
            value if isinstance(value, Unknown) else Unknown(name, value)  # type: ignore[arg-type]
            for name, value in sought.items()
        )
    return tuple(Unknown(item) if isinstance(item, str) else item for item in sought)


def run_fit(
    experiment: Experiment, *, state: FitState | None = None, history: Sequence[Record] = (),
    observer: Observer | None = None, check: bool = False, sure: bool = True,
) -> Result:  # fmt: skip
    """Run an experiment to its end.

    state, history: from where to go on; None begins. observer: called after each iteration with the state that would
    resume it. check: compare the gradient with finite differences at the start. sure: estimate uncertainties. A
    KeyboardInterrupt ends the fit and keeps what was found.
    """
    here = begin(experiment) if state is None else state
    records = list(history)
    badge: GradientCheck | str = "not asked for"
    interrupted = False
    try:
        if check:
            badge = _badge(experiment)
        while not here.finished:
            here, record = advance(experiment, here)
            records.append(record)
            if observer is not None:
                observer(here, record)
    except KeyboardInterrupt:
        interrupted = True
    return _result(experiment, here, tuple(records), badge, interrupted, sure)


def _badge(experiment: Experiment) -> GradientCheck | str:
    # A wrong component shows in every random direction: few of them do; `diffloom check-gradient` takes each unknown.
    try:
        return check_gradient(experiment.objective(), experiment.start(), entries=3, seed=experiment.seed)
    except FitError as error:
        return str(error)


def _result(
    experiment: Experiment, state: FitState, history: tuple[Record, ...], badge: GradientCheck | str,
    interrupted: bool, sure: bool,
) -> Result:  # fmt: skip
    outcome = best_outcome(state)
    shares = dict(experiment.stopwatch.seconds)
    if outcome is not None:
        z, reason = outcome.z, outcome.reason
    else:
        z = state.best[1] if state.best is not None else state.z
        reason = "interrupted"
    whole, start = experiment.objective(), experiment.start(0)
    found: Uncertainty | str = "not asked for"
    if sure and not interrupted:
        found = estimate_uncertainty(whole, z)
    holdout = (
        None if experiment.holdout is None or len(experiment.holdout) == 0 else experiment.objective(experiment.holdout)
    )
    return Result(
        estimates=_estimates(experiment, z, start, found),
        z=z,
        loss=whole.value(z).value,
        start_loss=whole.value(start).value,
        reason="interrupted by the user" if interrupted else reason,
        iterations=len(history),
        evaluations=sum(record.evaluations for record in history),
        seconds=state.seconds[1],
        memory=peak_memory(),
        holdout_loss=None if holdout is None else holdout.value(z).value,
        holdout_start_loss=None if holdout is None else holdout.value(start).value,
        uncertainty=found,
        gradient=badge,
        shares=shares,
        history=history,
        interrupted=interrupted,
        views=whole.losses(z) if len(experiment.scene.viewpoints) > 1 else {},
    )


def _estimates(
    experiment: Experiment, z: Tensor, start: Tensor, uncertainty: Uncertainty | str
) -> tuple[Estimate, ...]:
    layout, truth = experiment.layout, experiment.target.truth
    with torch.no_grad():
        found, began = layout.sought(z), layout.sought(start)
    rows = []
    for slot in layout.slots:
        true = truth.get(slot.name)
        if true is not None and slot.only is not None and slot.base is not None:
            true = true.expand(slot.base.shape)[list(slot.only)]
        sure = uncertainty.deviation[slot.name] if isinstance(uncertainty, Uncertainty) else None
        rows.append(Estimate(slot.name, slot.unit, began[slot.name], found[slot.name], sure, true))
    return tuple(rows)


def peak_memory() -> int:
    """The most memory this process has held [bytes]; 0 where the system does not tell."""
    if resource is None:
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(peak) if sys.platform == "darwin" else int(peak) * 1024


def without_history(result: Result) -> Result:
    """A copy small enough to keep many of."""
    return replace(result, history=())
