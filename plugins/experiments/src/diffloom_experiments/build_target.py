"""Targets from checked data: videos, goals, synthesised scenes, and starts guessed from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from pydantic import ValidationError
from torch import Tensor

from diffloom.interfaces import InputError
from diffloom.validation import check_choice, suggest_name
from diffloom_control import Goal, make_goal_target, make_pose_goal, make_track_target
from diffloom_experiments.build import build_renderer, build_scene, merge_tables, video_reader
from diffloom_experiments.changes import override
from diffloom_experiments.keys import explain_faults
from diffloom_experiments.load import Loaded, data_path
from diffloom_experiments.make import check_value, make, make_registered
from diffloom_experiments.models import flatten_part_tables
from diffloom_experiments.schema import ExperimentFile, GoalTable, PlateTable, TargetTable, UnknownTable
from diffloom_experiments.values import FramesTable, Named
from diffloom_fitting.scene import Scene
from diffloom_fitting.targets import AnyTarget, Target, Targets, synthesise, without_repeats
from diffloom_video import (
    BackgroundPlate,
    Segmenter,
    get_segmenter,
    read_masks,
    read_video,
    segment,
    warn_of_cut,
    with_free_swing,
    with_lost_frames,
)
from diffloom_video.guesses import GUESSES, WINDOWS, measure_colour, measure_sighting
from diffloom_video.images import read_image, resize

KINDS = ("image", "mask", "pose", "centre")
NOT_OF_GOALS = ("video", "masks", "background", "reader", "levels")


def is_goal(table: TargetTable) -> bool:
    """Return True if a target is a goal to reach and not a video."""
    return bool(table.goals) or table.track is not None or any(getattr(table, kind) is not None for kind in KINDS)


def build_goals(loaded: Loaded, scene: Scene, truth: dict[str, Tensor], table: TargetTable) -> Target:
    """Build the goals of one camera as a target."""
    for key in NOT_OF_GOALS:
        if getattr(table, key) is not None:
            raise InputError(f"target.{key}: this belongs to a video, and the target is a goal; leave one of them out")
    if table.track is not None:
        return replace(_track(loaded, scene, table), truth=truth)
    drawn = scene if table.renderer is None else scene.with_renderer(build_renderer(loaded, table.renderer))
    listed = [(f"target.goals.{n}", goal) for n, goal in enumerate(table.goals)]
    if any(getattr(table, kind) is not None for kind in KINDS):
        if listed:
            raise InputError("target.goals: [target] has a goal of its own too; move it into the list")
        listed = [("target", table)]
    goals: list[Goal] = []
    for place, goal in listed:
        made = _goal(loaded, drawn, goal, place)
        goals += [replace(made, at=at) for at in _times(goal, table, scene, place)]
    return replace(make_goal_target(goals, scene), truth=truth)


def _track(loaded: Loaded, scene: Scene, table: TargetTable) -> Target:
    """Build the target that follows a track, which has times of its own."""
    beside = [key for key in (*KINDS, "goals") if getattr(table, key)]
    beside += [key for key in ("at", "rate", "region") if key in table.model_fields_set]
    if beside:
        raise InputError(f"target.{beside[0]}: a track has times and places of its own; leave one of the two out")
    given = table.track
    assert given is not None
    try:
        return make_track_target(data_path(loaded.folder, given) if isinstance(given, str) else given, scene)
    except InputError as error:
        raise InputError(f"target.track: {error}") from error


def _goal(loaded: Loaded, scene: Scene, table: GoalTable, place: str) -> Goal:
    """Build one goal, at time 0."""
    given = [kind for kind in KINDS if getattr(table, kind) is not None]
    if table.pose is not None and len(given) == 1:
        return make_pose_goal(scene, _pose(scene, table.pose, f"{place}.pose"), 0.0)
    if table.centre is not None and len(given) == 1:
        return Goal(0.0, q=torch.tensor([table.centre], dtype=scene.dtype), source="a place")
    if given and set(given) <= {"image", "mask"}:
        image, mask = (None if path is None else loaded.folder / path for path in (table.image, table.mask))
        return Goal(0.0, image, mask)
    raise InputError(
        f"{place}: got {' and '.join(given) or 'no goal'}; expected an image, a mask or both, a pose, or a centre"
    )


def _pose(scene: Scene, pose: dict[str, object], place: str) -> dict[str, Tensor]:
    """Return the checked parameters of a pose."""
    own = [spec.name for spec in scene.model.specs]
    for name in pose:
        if name not in own:
            raise InputError(f"{place}.{name}: the model has no such parameter{suggest_name(name, own)}")
    values = {name: check_value(scene.model, name, value, f"{place}.{name}") for name, value in pose.items()}
    checked = scene.model.params(scene.dtype, **values)
    return {name: checked[name] for name in values}


def _times(goal: GoalTable, table: TargetTable, scene: Scene, place: str) -> list[float]:
    """Return the times of a goal [s]."""
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


#: Tables that describe the scene and not the fit.
TABLES = ("model", "terms", "params", "time", "appearance", "lights", "renderer")


def build_target_scene(loaded: Loaded, scene: Scene, changes: Mapping[str, Any]) -> Scene:
    """Build the scene of a file with the ``changes`` of [target.scene], seen by the camera of ``scene``."""
    for place in changes:
        if place.split(".")[0] not in TABLES:
            raise InputError(
                f'target.scene: got {place!r}; expected places in {", ".join(TABLES)}, such as "params.friction"'
            )
    try:
        data = flatten_part_tables(override(loaded.raw, changes))
        content = ExperimentFile.model_validate(data)
    except InputError as error:
        raise InputError(f"target.scene: {error}") from error
    except ValidationError as error:
        raise InputError(f"target.scene cannot be used:\n{explain_faults(error, ExperimentFile)}") from error
    made = build_scene(replace(loaded, content=content, raw=data, name="target.scene"))
    return made.select_view(scene.label) if content.views else made


def apply_guess(content: ExperimentFile, scene: Scene, target: AnyTarget) -> tuple[ExperimentFile, Scene]:
    """Return the file with guessed starts for unknowns that have none, and the scene with guessed windows."""
    if content.guess is None:
        return content, scene
    if not isinstance(target, Target):
        raise InputError("guess: got several cameras; expected one: remove [guess] and give starts")
    kind = check_choice("guess", content.guess.name, GUESSES)
    seen = measure_sighting(scene, target)
    found = {**make("guess", kind, partial(GUESSES[kind], seen), content.guess.settings), **measure_colour(target)}
    windows = found.get(WINDOWS)
    count = len(windows) + 1 if isinstance(windows, list) else 1
    starts = {
        name: table
        if table.start is not None or name not in found
        else table.model_copy(update={"start": _start(found[name], table, count)})
        for name, table in content.unknowns.items()
    }
    if isinstance(windows, list) and not scene.windows:
        scene = replace(scene, windows=tuple(windows))
    return content.model_copy(update={"unknowns": starts}), scene


def _start(guessed: Any, table: UnknownTable, windows: int) -> Any:
    """Return the start of an unknown from guessed values: their mean if it has one value for all windows."""
    each = isinstance(guessed, list) and windows > 1 and len(guessed) == windows
    return sum(guessed) / windows if each and not table.windows else guessed


OF_VIDEOS = (
    "masks", "background", "reader", "segment", "crop", "begin", "duration", "every", "rotate", "gamma", "repeats",
    "lost_frames", "free_swing", "plate", "ruler",
)  # fmt: skip
"""Keys of [target] that say how a video is read."""


def build_targets(loaded: Loaded, scene: Scene, truth: dict[str, Tensor]) -> tuple[AnyTarget, AnyTarget | None, Scene]:
    """Build the targets of a file.

    Args:
        loaded: Checked file.
        scene: Scene of the file.
        truth: True values by name.

    Returns:
        Frames that the loss sees, frames kept aside (None if there are none), each by view if there are several, and
            the
        scene with the backgrounds of the videos.
    """
    table, views = loaded.content.target, loaded.content.views
    if not views:
        if table is None:
            raise InputError("target: this is missing; give a video, or [target] alone to synthesise one from [truth]")
        whole, scene = _target(loaded, scene, truth, table)
        return *choose_frames(whole, table.frames), scene
    used: dict[str, Target] = {}
    holdout: dict[str, Target] = {}
    seen = dict(scene.viewpoints)
    for number, view in enumerate(views):
        own = merge_tables(table, view.target)
        try:
            whole, recorded = _target(loaded, scene.select_view(view.label), truth, own)
            used[view.label], aside = choose_frames(whole, own.frames)
        except InputError as error:
            raise InputError(f"views.{number} ({view.label}): {error}") from error
        if aside is not None:
            holdout[view.label] = aside
        seen[view.label] = replace(seen[view.label], background=recorded.background)
    if holdout and len(holdout) < len(used):
        missing = next(label for label in used if label not in holdout)
        raise InputError(
            f"views: {missing!r} keeps no frames aside, but other views do; set target.frames.holdout for all views"
        )
    return Targets(used), Targets(holdout) if holdout else None, replace(scene, camera=seen)


def _target(loaded: Loaded, scene: Scene, truth: dict[str, Tensor], table: TargetTable) -> tuple[Target, Scene]:
    """Return the target of one camera before frames are chosen, and the scene with the video's background."""
    if is_goal(table):
        return build_goals(loaded, scene, truth, table), scene
    if table.video is None:
        for key in OF_VIDEOS:
            if key in table.model_fields_set and getattr(table, key) is not None:
                raise InputError(f"target.{key}: only a video has one; give target.video")
        return _synthesise_target(loaded, scene, truth, table), scene
    if table.scene:
        raise InputError("target.scene: a video is not simulated; leave it out, or leave out target.video")
    if table.renderer is not None:
        raise InputError("target.renderer: a video is not rendered; leave it out, or leave out target.video")
    return _read_recording(loaded.folder, scene, truth, table)


def choose_frames(target: Target, table: FramesTable) -> tuple[Target, Target | None]:
    """Return the frames that the loss sees, and those kept aside."""
    count = len(target)
    for i in table.use or ():
        if not -count <= i < count:
            raise InputError(f"target.frames.use: got {i}; the target has frames 0 to {count - 1}")
    if len(set(table.use or ())) < len(table.use or ()):
        raise InputError(f"target.frames.use: got {table.use}; expected each frame once")
    used = list(range(table.first, count, table.every)) if table.use is None else [i % count for i in table.use]
    span = table.share * float(target.times[-1])
    until = span if table.until is None else min(span, table.until)
    if table.until is not None or table.share < 1.0:
        used = [i for i in used if float(target.times[i]) <= until]
    if not used:
        raise InputError(f"target.frames: no frame is left of {count}; start earlier than frame {table.first}")
    chosen = target.select(sorted(set(used)))
    if table.holdout == "none":
        return chosen, None
    holdout = _aside(table, count, used)
    if len(holdout) > table.holdout_limit:
        pick = torch.linspace(0, len(holdout) - 1, table.holdout_limit).round().long()
        holdout = [holdout[int(i)] for i in pick]
    return chosen, target.select(holdout) if holdout else None


def _aside(table: FramesTable, count: int, used: list[int]) -> list[int]:
    """Return the numbers of the frames kept aside."""
    if isinstance(table.holdout, list):
        return table.holdout
    first = max(used) + 1 if table.holdout == "later" else 0
    return [i for i in range(first, count) if i not in used]


def _synthesise_target(loaded: Loaded, scene: Scene, truth: dict[str, Tensor], table: TargetTable) -> Target:
    """Synthesise the target from the true values."""
    if not truth and not table.scene:
        raise InputError("truth: this is empty; a synthesised target needs the true values of what is unknown")
    drawn = build_target_scene(loaded, scene, table.scene) if table.scene else scene
    if table.renderer is not None:
        drawn = drawn.with_renderer(build_renderer(loaded, table.renderer))
    # True controls make the video, not the network that has yet to learn them.
    drawn = replace(drawn, policy=None)
    made = replace(synthesise(drawn, truth, rate=table.rate, levels=table.levels), goal=table.goal)
    # States of another model cannot be compared with those of the fit.
    return replace(made, q=None) if "model" in table.scene else made


def _segmenter(named: Named, folder: Path, behind: Tensor | None) -> Segmenter:
    """Return the segmenter that a file names.

    ``behind`` is the image of target.plate, which serves as the background plate unless the settings give another one.
    """
    settings, plate = named.settings, named.settings.get("plate")
    if isinstance(plate, str) and plate not in ("median", "first"):
        settings["plate"] = str(data_path(folder, plate))
    made: Segmenter = make_registered("target.segment", get_segmenter, Named(name=named.name, **settings))
    if behind is not None and isinstance(made, BackgroundPlate) and plate is None:
        return replace(made, plate=behind.to(torch.float32).numpy())
    return made


def _behind(folder: Path, scene: Scene, target: Target, background: str, plate: Tensor | None) -> Tensor:
    """Return the image (height, width, 3) behind the surface: the plate, the median of the video, or a file."""
    if background == "median":
        assert target.frames is not None
        return target.frames.median(dim=0).values if plate is None else plate
    image = torch.from_numpy(read_image(folder / background)).to(scene.dtype) / 255.0
    return resize(image, scene.size)


def _plate(folder: Path, scene: Scene, table: TargetTable, part: PlateTable) -> Tensor:
    """Return the median (height, width, 3) of a part of the video."""
    assert table.video is not None
    shown = read_video(
        data_path(folder, table.video), size=scene.size, begin=part.begin, duration=part.duration, every=part.every,
        rate=table.rate if table.repeats == "keep" else None, reader=video_reader(table.reader), crop=table.crop,
        rotate=table.rotate, gamma=table.gamma,
    ).frames  # fmt: skip
    assert shown is not None
    return shown.median(dim=0).values.to(scene.dtype)


def _read_recording(folder: Path, scene: Scene, truth: dict[str, Tensor], table: TargetTable) -> tuple[Target, Scene]:
    """Read the target from a video, and return it with the scene and its background."""
    assert table.video is not None
    offset = scene.viewpoint.time_offset
    span = scene.steps * scene.dt - offset
    duration = span if table.duration is None else min(span, table.duration)
    if not duration > 0.0:
        raise InputError(f"time_offset: got {offset:g} s; the simulation ends before this video begins")
    target = read_video(
        data_path(folder, table.video), size=scene.size, begin=table.begin, duration=duration, every=table.every,
        # If repeated frames are dropped, the rate counts the remaining frames.
        rate=table.rate if table.repeats == "keep" else None, dtype=scene.dtype, reader=video_reader(table.reader),
        crop=table.crop, rotate=table.rotate, gamma=table.gamma,
    )  # fmt: skip
    if target.goes_on and (table.duration is None or table.duration > span):
        warn_of_cut(table.video, span)
    if table.masks is not None:
        if table.segment is not None:
            raise InputError("target.segment: target.masks already gives the masks; leave out one of the two")
        target = read_masks(target, data_path(folder, table.masks), dtype=scene.dtype)
    plate = None if table.plate is None else _plate(folder, scene, table, table.plate)
    if table.segment is not None:
        target = segment(target, _segmenter(table.segment, folder, plate), table.ruler)
    if table.repeats == "drop":
        target = without_repeats(target, table.rate)
    if table.lost_frames == "find":
        target = with_lost_frames(target, table.every)
        target = target.select([i for i, time in enumerate(target.times.tolist()) if time <= span])
    if table.free_swing == "find":
        target = with_free_swing(target)
    if offset < 0.0:
        # Frames before the simulation's start have no counterpart.
        later = [i for i, time in enumerate(target.times.tolist()) if time + offset >= 0.0]
        if not later:
            raise InputError(f"time_offset: got {offset:g} s; the video ends before the simulation begins")
        target = target.select(later)
    if table.background is not None:
        scene = replace(scene, background=_behind(folder, scene, target, table.background, plate))
    return replace(target, truth=truth, goal=table.goal), scene
