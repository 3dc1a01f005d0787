"""Fits: `fit` for one stage, and `run_fit` for a whole experiment."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import TypedDict, Unpack

import torch
from torch import Tensor

from diffloom.interfaces import InputError
from diffloom_fitting.ends import judge_end, measure_outcome, search_lower
from diffloom_fitting.experiment import AbstractExperiment, Experiment
from diffloom_fitting.gradient_check import GradientCheck, check_gradient, check_wide_gradient, doubt_verdict
from diffloom_fitting.keywords import Prior, choose_optimiser, explain_keywords, is_stop, split_prior
from diffloom_fitting.kinds import DISPLAYS, TARGET_READERS, get_loss
from diffloom_fitting.loop import FitState, MultiStart, Record, begin, find_best_outcome
from diffloom_fitting.losses import Loss, PixelError
from diffloom_fitting.optimisers import FitError, GaussNewton, Optimiser
from diffloom_fitting.results import Estimate, Result
from diffloom_fitting.scene import Scene, View
from diffloom_fitting.stages import Stage, Stop
from diffloom_fitting.stopwatch import Lap
from diffloom_fitting.targets import Target, Targets
from diffloom_fitting.targets.several import AnyTarget, as_targets
from diffloom_fitting.trust.uncertainty import Method, Uncertainty
from diffloom_fitting.trust.verdict import Verdict, skip_judgement
from diffloom_fitting.unknowns.unknown import Sought, as_unknowns
from diffloom_fitting.validation import check_instance, check_whole, describe_value
from diffloom_testing import WideComparison

resource: ModuleType | None
try:
    resource = importlib.import_module("resource")
except ImportError:  # not on Windows
    resource = None

Observer = Callable[[FitState, Record], object]


class FitOptions(TypedDict, total=False):
    """Keywords of `fit` that are rarely needed."""

    optimizer: Optimiser | str | None
    observer: Observer | None
    seed: int
    uncertainty: Method


@explain_keywords(FitOptions)
def fit(
    scene: Scene, target: AnyTarget | Mapping[str, Target] | View | str | Path, unknowns: Sought, *,
    loss: Loss | str | None = None, optimiser: Optimiser | str | None = None, iterations: int = 30,
    stop: Stop | None = None, lr: float | None = None, prior: Prior | None = None,
    callback: Callable[[Record], object] | None = None, progress: bool | None = None, **options: Unpack[FitOptions],
) -> Result:  # fmt: skip
    """Find the ``unknowns`` of a scene with which it looks like the target.

    For stages, schedules, holdout frames and several starts, make an ``Experiment`` and call ``run_fit``.

    Example:
        found = fit(scene, "clip.mp4", {"shear_modulus": "2 kPa"})
        print(found)  # the verdict, a table with ±, and how the fit went

    Args:
        scene: The scene.
        target: A ``Target``, a view from ``scene.render``, or the path of a video; for several cameras ``Targets`` or a
            mapping, one for each label.
        unknowns: Starts by name, such as {"density": 2.0} or {"shear_modulus": "2 kPa"}, or a list of ``Unknown``.
        loss: A loss or its registered name; None for the pixel error.
        optimiser: An optimiser or its registered name; None for Gauss-Newton.
        iterations: Largest number of iterations.
        stop: Conditions for ending earlier; None ends when the loss rests.
        lr: Learning rate of the optimiser; None for its own. Gauss-Newton has none.
        prior: Prior knowledge: (mean, deviation) by name of the unknown, a ``Gaussian``, or a function from values by
            name to a term of the loss.
        callback: Called after each iteration with its record; ends the fit by returning True.
        progress: True to show each iteration; None shows them in a notebook.
        options: ``seed``: seed of all random numbers (0); ``uncertainty``: method of ±, "laplace" (default), "blocks"
            or "posterior" (see ``Experiment``); ``observer``: called after each iteration with the state that would
            resume it, and its record, and ends the fit by returning True; ``optimizer``: other spelling of
            ``optimiser``.

    Returns:
        Estimates with uncertainty, verdict and history.

    Raises:
        InputError: An argument cannot be used.
        FitError: The scene cannot be simulated from the start.
    """
    check_instance("fit: scene", scene, Scene)
    chosen = choose_optimiser(optimiser, options.get("optimizer"), lr)
    error = PixelError() if loss is None else check_instance("fit: loss", loss, Loss, get_loss)  # type: ignore[type-abstract]
    still = Stop(change=1e-9, patience=3 if isinstance(chosen, GaussNewton) else None)
    stage = Stage(chosen, check_whole("fit: iterations", iterations, 1), stop=still if stop is None else stop)
    experiment = Experiment(
        scene, observe_iteration(scene, target), as_unknowns(unknowns), error, (stage,),
        seed=check_whole("fit: seed", options.get("seed", 0)), uncertainty=options.get("uncertainty", "laplace"),
        **split_prior(prior),
    )  # fmt: skip
    observer = options.get("observer")
    for name, one in (("observer", observer), ("callback", callback)):
        if one is not None and not callable(one):
            raise InputError(f"fit: {name}: got {describe_value(one)}; expected a function")
    with _open_display(experiment, progress) as show:

        def observe(state: FitState, record: Record) -> bool:
            answers = [one(state, record) for one in (show, observer) if one is not None]
            return any(map(is_stop, [*answers, None if callback is None else callback(record)]))

        return run_fit(experiment, observer=observe)


@contextmanager
def _open_display(experiment: Experiment, progress: bool | None) -> Iterator[Observer | None]:
    """Context manager: the display of progress, or None if there is none."""
    if progress is False or (progress is None and "IPython" not in sys.modules):
        yield None
        return
    from rich.console import Console

    console = Console(stderr=True)
    if progress is None and not console.is_jupyter:
        yield None
        return
    if "progress" not in DISPLAYS.names():
        yield None
        return
    with DISPLAYS.get("progress")(experiment, console) as shown_by:
        yield shown_by.show


def observe_iteration(scene: Scene, target: object) -> AnyTarget:
    """Return a target from the argument of `fit`; a path is read at the camera's size and precision."""
    if isinstance(target, Target | Targets):
        return target
    if isinstance(target, View):
        if target.image is None or target.image.rgba is None:
            raise InputError("fit: target: got a view without images; render it with the output 'rgba'")
        frames = target.image.rgba.detach()
        times = target.times.detach() - scene.viewpoint.time_offset
        return Target(times, frames, frames[..., 3], target.q.detach(), source="a rendered view", synthetic=True)
    if isinstance(target, str | Path):
        read: Target = TARGET_READERS.get("video")(target, scene)
        return read
    if isinstance(target, Mapping):
        views = {label: observe_iteration(scene.select_view(label), one) for label, one in target.items()}
        return as_targets(views)  # type: ignore[arg-type]
    bare = hasattr(target, "shape") or isinstance(target, list | tuple)
    hint = "; give the frames' times too: Target(times, frames)" if bare else ""
    raise InputError(f"fit: target: got {describe_value(target)}; expected a Target or the path of a video{hint}")


def run_fit(
    experiment: AbstractExperiment, *, state: FitState | None = None, history: Sequence[Record] = (),
    observer: Observer | None = None, check: bool = False, sure: bool = True,
) -> Result:  # fmt: skip
    """Run an experiment to its end; a KeyboardInterrupt ends the fit and keeps its result.

    Args:
        experiment: The experiment.
        state: State to resume from; None starts anew.
        history: Records of the iterations before ``state``.
        observer: Called after each iteration with the state that would resume it, and its record; ends the fit by
            returning True.
        check: True to compare the gradient at the start with finite differences.
        sure: True to estimate the uncertainty and judge the fit.

    Returns:
        The result.

    Raises:
        FitError: The only start cannot be simulated.
        SimulationError: The time step is too long.
    """
    check_instance("run_fit: experiment", experiment, AbstractExperiment)  # type: ignore[type-abstract]
    lap = Lap()
    if state is None and sure:
        experiment.check_before()
    here = begin(experiment) if state is None else state
    records = list(history)
    badge: GradientCheck | str = "not asked for"
    wide: WideComparison | None = None
    interrupted, stopped = False, False
    starts = MultiStart(experiment)
    try:
        if check and experiment.uses_adjoint:
            badge, wide = _badge(experiment, sure), _wide(experiment, sure)
            experiment.stopwatch.seconds.clear()  # the check is not part of the fit
        while not here.finished and not stopped:
            here, record = starts.advance(here)
            records.append(record)
            stopped = observer is not None and is_stop(observer(here, record))
    except KeyboardInterrupt:
        interrupted = True
    result = _result(experiment, here, tuple(records), badge, interrupted, sure, "stopped by a callback")
    return replace(result, compiling=lap.compiling, wide=wide, experiment=experiment)


def _wide(experiment: AbstractExperiment, together: bool) -> WideComparison | None:
    """Compare the gradient at the start with differences of a few per cent: through impacts the two may disagree."""
    try:
        return check_wide_gradient(experiment.objective(), experiment.start(), entries=6, together=together)
    except FitError:
        return None


def _badge(experiment: AbstractExperiment, together: bool) -> GradientCheck | str:
    # A wrong component shows in every random direction, so few are enough; `diffloom check-gradient` checks all.
    # together: the uncertainty needs the program for batches anyway.
    try:
        return check_gradient(
            experiment.objective(), experiment.start(), entries=3, seed=experiment.seed, together=together
        )
    except FitError as error:
        return str(error)


def _result(
    experiment: AbstractExperiment, state: FitState, history: tuple[Record, ...], badge: GradientCheck | str,
    interrupted: bool, sure: bool, early: str = "interrupted",
) -> Result:  # fmt: skip
    outcome = find_best_outcome(state)
    shares = dict(experiment.stopwatch.seconds)
    if outcome is not None:
        z, reason = outcome.z, outcome.reason
    else:
        z = state.best[1] if state.best is not None else state.z
        reason = early
    if sure and outcome is not None and not interrupted:
        z, told = search_lower(experiment, z, settled=not reason.endswith("iterations are done"))
        reason += told
    whole, start = experiment.objective(), experiment.start(0)
    found, verdict = "not asked for", skip_judgement("not asked for")  # type: Uncertainty | str, Verdict
    if sure:
        found, verdict = judge_end(experiment, z, interrupted)
        verdict = doubt_verdict(verdict, badge)
    outcome_fields, told = measure_outcome(experiment, z, start)
    reason += told
    return Result(
        estimates=_estimates(experiment, z, start, found, verdict),
        z=z,
        loss=whole.value(z).value,
        start_loss=whole.value(start).value,
        reason="interrupted by the user" if interrupted else reason,
        iterations=len(history),
        evaluations=sum(record.evaluations for record in history),
        seconds=state.seconds[1],
        memory=peak_memory(),
        uncertainty=found,
        gradient=badge,
        shares=shares,
        history=history,
        interrupted=interrupted,
        verdict=verdict,
        **outcome_fields,
    )


def _estimates(
    experiment: AbstractExperiment, z: Tensor, start: Tensor, uncertainty: Uncertainty | str, verdict: Verdict
) -> tuple[Estimate, ...]:
    layout, truth = experiment.layout, experiment.truth
    with torch.no_grad():
        found, began = layout.sought(z), layout.sought(start)
    rows = []
    for slot in layout.slots:
        true = truth.get(slot.name) if slot.along is None else None
        if true is not None and slot.only is not None and slot.base is not None:
            true = true.expand(slot.base.shape)[list(slot.only)]
        sure = uncertainty.deviation.get(slot.name) if isinstance(uncertainty, Uncertainty) else None
        sure, caveat = _choose_deviation(sure, verdict)
        drawn = uncertainty.posterior if isinstance(uncertainty, Uncertainty) and sure is not None else None
        between = None if drawn is None else drawn.interval(slot.name)
        rows.append(Estimate(slot.name, slot.unit, began[slot.name], found[slot.name], sure, true, caveat, between))
    return tuple(rows)


def _choose_deviation(deviation: Tensor | None, verdict: Verdict) -> tuple[Tensor | None, str]:
    """Return the deviation that may be shown, and its caveat: an amber or red fit shows no bare ±."""
    if deviation is None or verdict.level == "green":
        return deviation, ""
    others = [finding.level for part, finding in verdict.findings() if part != "identifiable"]
    if "red" in others:
        return None, "± withheld"
    if not bool(deviation.isfinite().any()):
        return None, "not determined"
    return deviation, "amber" if bool(deviation.isfinite().all()) else "not all determined"


def peak_memory() -> int:
    """Return the peak memory of this process [bytes]; 0 if the system does not report it."""
    if resource is None:
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(peak) if sys.platform == "darwin" else int(peak) * 1024
