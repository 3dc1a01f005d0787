"""From a file's goals to a target."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from diffloom.interfaces import InputError
from diffloom.validation import nearest
from diffloom_control.goals import Goal, goal_target, pose_goal
from diffloom_control.tracks import track_target
from diffloom_experiments.build import build_renderer, known_value
from diffloom_experiments.data_files import data_path
from diffloom_experiments.load import Loaded
from diffloom_experiments.schema import GoalTable, TargetTable
from diffloom_fitting.scene import Scene
from diffloom_fitting.targets import Target

KINDS = ("image", "mask", "pose", "centre")
OF_VIDEOS = ("video", "masks", "background", "reader", "levels")


def is_goal(table: TargetTable) -> bool:
    """Whether a target says what is wanted."""
    return bool(table.goals) or table.track is not None or any(getattr(table, kind) is not None for kind in KINDS)


def build_goals(loaded: Loaded, scene: Scene, truth: dict[str, Tensor], table: TargetTable) -> Target:
    """The goals of one camera as a target."""
    for key in OF_VIDEOS:
        if getattr(table, key) is not None:
            raise InputError(f"target.{key}: this belongs to a video, and the target is a goal; leave one of them out")
    if table.track is not None:
        return replace(_track(loaded, scene, table), truth=truth)
    drawn = scene if table.renderer is None else scene.with_renderer(build_renderer(loaded, table.renderer))
    listed = [(f"target.goals.{n}", goal) for n, goal in enumerate(table.goals)]
    if any(getattr(table, kind) is not None for kind in KINDS):
        if listed:
            raise InputError("target.goals: the target itself is a goal too; move it into the list")
        listed = [("target", table)]
    goals: list[Goal] = []
    for place, goal in listed:
        made = _goal(loaded, drawn, goal, place)
        goals += [replace(made, at=at) for at in _times(goal, table, scene, place)]
    return replace(goal_target(goals, scene), truth=truth)


def _track(loaded: Loaded, scene: Scene, table: TargetTable) -> Target:
    """The goal to go along a track, which has times of its own."""
    beside = [key for key in (*KINDS, "goals") if getattr(table, key)]
    beside += [key for key in ("at", "rate", "region") if key in table.model_fields_set]
    if beside:
        raise InputError(f"target.{beside[0]}: a track has times and places of its own; leave one of the two out")
    given = table.track
    assert given is not None
    try:
        return track_target(data_path(loaded.folder, given) if isinstance(given, str) else given, scene)
    except InputError as error:
        raise InputError(f"target.track: {error}") from error


def _goal(loaded: Loaded, scene: Scene, table: GoalTable, place: str) -> Goal:
    """One goal, at time 0."""
    given = [kind for kind in KINDS if getattr(table, kind) is not None]
    if table.pose is not None and len(given) == 1:
        return pose_goal(scene, _pose(scene, table.pose, f"{place}.pose"), 0.0)
    if table.centre is not None and len(given) == 1:
        return Goal(0.0, q=torch.tensor([table.centre], dtype=scene.dtype), source="a place")
    if given and set(given) <= {"image", "mask"}:
        image, mask = (None if path is None else loaded.folder / path for path in (table.image, table.mask))
        return Goal(0.0, image, mask)
    raise InputError(
        f"{place}: got {' and '.join(given) or 'no goal'}; expected an image, a mask or both, a pose, or a centre"
    )


def _pose(scene: Scene, pose: dict[str, object], place: str) -> dict[str, Tensor]:
    """The parameters of a pose, checked."""
    own = [spec.name for spec in scene.model.specs]
    for name in pose:
        if name not in own:
            raise InputError(f"{place}.{name}: the model has no such parameter{nearest(name, own)}")
    values = {name: known_value(scene.model, name, value, f"{place}.{name}") for name, value in pose.items()}
    checked = scene.model.params(scene.dtype, **values)
    return {name: checked[name] for name in values}


def _times(goal: GoalTable, table: TargetTable, scene: Scene, place: str) -> list[float]:
    """When a goal is to be reached [s]."""
    span = scene.steps * scene.dt - scene.viewpoint.time_offset
    if goal.at == "end":
        return [span]
    if goal.at == "all":
        if table.rate is None:
            raise InputError(f'{place}.at: "all" needs target.rate, frames a second')
        return [k / table.rate for k in range(1, round(span * table.rate) + 1)]
    times = goal.at if isinstance(goal.at, list) else [goal.at]
    for at in times:
        if not 0.0 <= at <= span * (1.0 + 1e-9):
            raise InputError(f"{place}.at: got {at:g} s; the simulation covers 0 s to {span:g} s")
    return [float(at) for at in times]
