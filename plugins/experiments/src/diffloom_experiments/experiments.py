"""Experiments from checked data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from torch import Tensor

from diffloom.interfaces import InputError, SimulationError
from diffloom_experiments.build import build_renderer, build_scene
from diffloom_experiments.build_target import apply_guess, build_targets, is_goal
from diffloom_experiments.default_stages import RESTARTS, make_default_stages
from diffloom_experiments.keys import explain_faults
from diffloom_experiments.load import Loaded, MissingDataError, load_file
from diffloom_experiments.make import make_registered
from diffloom_experiments.schema import ExperimentFile, PriorTable, StageTable, UnknownTable
from diffloom_experiments.starts import build_truth, check_scene_names, make_further_starts, make_start
from diffloom_experiments.values import Named, ScheduleTable
from diffloom_fitting import (
    ControlCosts,
    Experiment,
    Gaussian,
    Loss,
    Optimiser,
    RegionLoss,
    Schedule,
    ShareEvenly,
    Stage,
    Stop,
    Unknown,
    get_loss,
    get_optimiser,
)
from diffloom_fitting.scene import OF_WINDOW, Scene, suggest_step
from diffloom_fitting.targets import AnyTarget, with_truth
from diffloom_fitting.validation import check_instance


def expand_windows(content: ExperimentFile, count: int) -> ExperimentFile:
    """Return the file with one unknown per window for those with windows = true, in [unknowns], stages and priors."""
    own = {name: table for name, table in content.unknowns.items() if table.windows}
    if not own:
        return content
    if count < 2:
        raise InputError(f"unknowns.{next(iter(own))}: windows = true needs windows; give time.windows or guess them")
    unknowns: dict[str, UnknownTable] = {}
    for name, table in content.unknowns.items():
        unknowns |= _each(name, table, count) if name in own else {name: table}
    stages = [s.model_copy(update={"only": None if s.only is None else _expand_names(s.only, own, count)})
              for s in content.stages]  # fmt: skip
    gaussian = {one: t for name, t in content.prior.gaussian.items() for one in _expand_names([name], own, count)}
    prior = content.prior.model_copy(update={"gaussian": gaussian})
    return content.model_copy(update={"unknowns": unknowns, "stages": stages, "prior": prior})


def _each(name: str, table: UnknownTable, count: int) -> dict[str, UnknownTable]:
    """Return the tables of one unknown for each window."""
    starts = table.start
    if not isinstance(starts, list):
        starts = [starts] * count
    if len(starts) != count:
        raise InputError(f"unknowns.{name}.start: got {len(starts)} values; expected one, or one for each of {count}")
    return {
        f"{name}{OF_WINDOW}{number + 1}": table.model_copy(update={"start": start, "windows": False})
        for number, start in enumerate(starts)
    }


def _expand_names(names: Sequence[str], own: dict[str, UnknownTable], count: int) -> list[str]:
    """Return names with those of windowed unknowns expanded."""
    return [one for n in names for one in ([f"{n}{OF_WINDOW}{k + 1}" for k in range(count)] if n in own else [n])]


def build_experiment(loaded: Loaded | str | Path) -> Experiment:
    """Build the experiment of a file, its target included.

    Args:
        loaded: Checked file, or path of a file.

    Returns:
        Experiment that ``diffloom_fitting.run_fit`` runs.

    Raises:
        InputError: A value is wrong; the message names the file and the key.
        MissingDataError: Data outside the project is not available.
    """
    if isinstance(loaded, str | Path):
        loaded = load_file(loaded)
    check_instance("build_experiment", loaded, Loaded)
    scene = build_scene(loaded)
    try:
        return _experiment(loaded, scene)
    except MissingDataError:
        raise
    except InputError as error:
        raise InputError(f"{loaded.name}: {error}") from error
    except SimulationError as error:
        raise SimulationError(f"{loaded.name}: {error}{_advise_step(loaded, scene)}") from error


def _advise_step(loaded: Loaded, scene: Scene) -> str:
    """Return the key and value of a shorter step, if that of the file is beyond the one that the model suggests."""
    if loaded.content.time.dt == "auto":
        return ""
    suggested = min(suggest_step(scene.model, scene.params_with(build_truth(loaded, scene))), 0.5 * scene.dt)
    return f' Here time.dt = {suggested:.2g} or time.dt = "auto" would do.'


def _derive_values(
    scene: Scene, truth: Mapping[str, Tensor], unknowns: Mapping[str, Any], recorded: bool
) -> dict[str, Tensor]:
    """Return the true values of unknowns that follow from other true values, such as masses from densities.

    With ``recorded`` only values that follow from [truth] count, not those that follow from a model's defaults.
    """
    wanted = {spec.name for spec in scene.model.specs} & set(unknowns) - set(truth)
    if not wanted:
        return {}
    traced = {name: value.detach().clone().requires_grad_(True) for name, value in truth.items()}
    found = scene.model.derived(scene.params_with(traced))
    told = {name: value for name, value in found.items() if name in wanted}
    return {name: value.detach() for name, value in told.items() if value.requires_grad or not recorded}


def _is_recorded(content: ExperimentFile) -> bool:
    """Return True if one of a file's targets is a video or a goal."""
    tables = [content.target, *(view.target for view in content.views)]
    return any(table is not None and (table.video is not None or is_goal(table)) for table in tables)


def _experiment(loaded: Loaded, scene: Scene) -> Experiment:
    """Build the experiment; errors do not name the file."""
    content = loaded.content
    if not content.unknowns:
        raise InputError("unknowns: nothing is unknown; name at least one, such as [unknowns.mass]")
    check_scene_names("unknowns", content.unknowns, scene)
    truth = build_truth(loaded, scene)
    target, holdout, scene = build_targets(loaded, scene, truth)
    content, scene = apply_guess(content, scene, target)
    content = expand_windows(content, len(scene.windows) + 1)
    truth = truth | _derive_values(scene, truth, content.unknowns, _is_recorded(content))
    target, holdout = with_truth(target, truth), None if holdout is None else with_truth(holdout, truth)
    unknowns = [
        Unknown(
            name, make_start(scene, name, table, truth, content.seed, 0), table.each,
            None if table.only is None else tuple(table.only), table.space, table.bounds, table.scale,
        )
        for name, table in content.unknowns.items()
    ]  # fmt: skip
    even = content.prior.even
    loss = _restrict_to_region(content, _loss(_named_loss(content, target), "loss"))
    made = Experiment(
        scene, target, unknowns, loss, _make_stages(loaded, content, unknowns, loss, target),
        holdout, make_further_starts(content, scene, unknowns, truth), content.starts.probe, content.starts.accept_loss,
        ShareEvenly.build(even, [u.name for u in unknowns]) if even else None, content.seed, content.title,
        gaussian=_gaussian(content.prior), uncertainty=content.uncertainty, assumed=content.assumed,
        costs=ControlCosts(content.control.effort, content.control.smoothness) if _costly(content) else None,
        restarts=0 if "stages" in loaded.content.model_fields_set or content.starts.count > 1 else RESTARTS,
    )  # fmt: skip
    made.start()  # reports an invalid start before anything is written
    return made


def _make_stages(
    loaded: Loaded, content: ExperimentFile, unknowns: Sequence[Unknown], loss: Loss, target: AnyTarget
) -> tuple[Stage, ...]:
    """Return the stages of a file, or the default ones."""
    if "stages" not in loaded.content.model_fields_set:
        return make_default_stages([u.name for u in unknowns], loss, target, content.iterations or 30)
    if content.iterations is not None:
        raise InputError(
            f"iterations: the file has stages of its own; write stages.{len(content.stages) - 1}.iterations = "
            f"{content.iterations}"
        )
    return tuple(_stage(stage, f"stages.{n}", loaded) for n, stage in enumerate(content.stages))


def _gaussian(table: PriorTable) -> Gaussian | None:
    """Return the Gaussian prior of a file, or None."""
    if not table.gaussian:
        return None
    means = {name: given.mean for name, given in table.gaussian.items()}
    return Gaussian(means, {n: given.deviation for n, given in table.gaussian.items()}, table.noise)


def _loss(named: Named, place: str) -> Loss:
    """Return the loss that a file names."""
    made: Loss = make_registered(place, get_loss, named)
    return made


def _costly(content: ExperimentFile) -> bool:
    """Return True if controls have a cost."""
    return content.control.effort > 0.0 or content.control.smoothness > 0.0


def _named_loss(content: ExperimentFile, target: AnyTarget) -> Named:
    """Return the loss that a file names, or the one that suits its goal: a mask has no colours, a track no pixels."""
    goal = next(iter(target.by_view().values()))
    if "loss" in content.model_fields_set or goal.frames is not None:
        return content.loss
    if goal.tracks is not None and goal.masks is None:
        return Named(name="track")
    return Named(name="centre" if goal.masks is None else "silhouette")


def _restrict_to_region(content: ExperimentFile, loss: Loss) -> Loss:
    """Return a loss restricted to the target's region."""
    region = None if content.target is None else content.target.region
    return loss if region is None or not loss.outputs else RegionLoss(region, loss)


def _stage(table: StageTable, place: str, loaded: Loaded) -> Stage:
    """Build a stage."""
    content = loaded.content
    renderer = content.renderer.name if table.drawn_by is None else table.drawn_by
    optimiser: Optimiser = make_registered(f"{place}.optimiser", get_optimiser, table.optimiser)
    loss, changing = _stage_loss(table.loss, f"{place}.loss")
    return Stage(
        optimiser,
        table.iterations,
        _schedule(table.rate, 1.0),
        _schedule(table.horizon, 1.0),
        {key: _schedule(value, 0.0) for key, value in table.renderer.get(renderer, {}).items()},
        None if loss is None else _restrict_to_region(content, loss),
        changing,
        None if table.only is None else tuple(table.only),
        tuple(table.shared),
        tuple(table.together),
        Stop(**table.stop.model_dump()),
        {key: _schedule(value, 0.0) for key, value in table.params.items()},
        None if table.drawn_by is None else build_renderer(loaded, table.drawn_by),
    )


def _stage_loss(named: Named | None, place: str) -> tuple[Loss | None, dict[str, Schedule]]:
    """Return the loss of a stage, and the schedules among its settings."""
    if named is None:
        return None, {}
    changing = {
        key: _schedule(_schedule_table(value, f"{place}.{key}"), 0.0)
        for key, value in named.settings.items()
        if isinstance(value, Mapping) and "first" in value
    }
    begun = {key: schedule.first for key, schedule in changing.items()}
    return _loss(Named(name=named.name, **{**named.settings, **begun}), place), changing


def _schedule_table(value: Mapping[str, Any], place: str) -> ScheduleTable:
    """Return the checked table of a schedule."""
    try:
        return ScheduleTable.model_validate(value)
    except ValidationError as error:
        raise InputError(f"{place}: not a schedule\n{explain_faults(error, ScheduleTable)}") from error


def _schedule(value: ScheduleTable | float | None, otherwise: float) -> Schedule:
    """Return the schedule of a table or number."""
    if isinstance(value, ScheduleTable):
        return Schedule(**value.model_dump())
    fixed = otherwise if value is None else value
    return Schedule(fixed, fixed)
