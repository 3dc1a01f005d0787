"""From checked data to a target."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from diffloom.interfaces import InputError
from diffloom_experiments.build import build_renderer, common, video_reader
from diffloom_experiments.build_goals import build_goals, is_goal
from diffloom_experiments.data_files import data_path
from diffloom_experiments.load import Loaded
from diffloom_experiments.make import make_registered
from diffloom_experiments.schema import PlateTable, TargetTable
from diffloom_experiments.target_scene import target_scene
from diffloom_experiments.values import FramesTable, Named
from diffloom_fitting.scene import Scene
from diffloom_fitting.targets import Target, Targets, synthesise
from diffloom_fitting.targets.confidence import without_repeats
from diffloom_fitting.targets.several import AnyTarget
from diffloom_video import get_segmenter, read_masks, read_video
from diffloom_video.folder import read_image
from diffloom_video.free_swing import with_free_swing
from diffloom_video.lost_frames import with_lost_frames
from diffloom_video.reading import warn_of_cut
from diffloom_video.resize import resize
from diffloom_video.segmentation import BackgroundPlate, Segmenter, segment

OF_VIDEOS = (
    "masks", "background", "reader", "segment", "crop", "begin", "duration", "every", "rotate", "gamma", "repeats",
    "lost_frames", "free_swing", "plate", "ruler",
)  # fmt: skip
"""Keys of [target] that say how a video is read."""


def build_targets(loaded: Loaded, scene: Scene, truth: dict[str, Tensor]) -> tuple[AnyTarget, AnyTarget | None, Scene]:
    """The frames the loss sees and those kept aside, of each view where there are several; and the scene (with the
    videos' backgrounds, where asked for)."""
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
        own = common(table, view.target)
        try:
            whole, recorded = _target(loaded, scene.seen_from(view.label), truth, own)
            used[view.label], aside = choose_frames(whole, own.frames)
        except InputError as error:
            raise InputError(f"views.{number} ({view.label}): {error}") from error
        if aside is not None:
            holdout[view.label] = aside
        seen[view.label] = replace(seen[view.label], background=recorded.background)
    if holdout and len(holdout) < len(used):
        missing = next(label for label in used if label not in holdout)
        raise InputError(
            f"views: {missing!r} keeps no frames aside and others do; set target.frames.holdout for all of them"
        )
    return Targets(used), Targets(holdout) if holdout else None, replace(scene, camera=seen)


def _target(loaded: Loaded, scene: Scene, truth: dict[str, Tensor], table: TargetTable) -> tuple[Target, Scene]:
    """The whole target of one camera, before frames are chosen, and the scene with the video's background."""
    if is_goal(table):
        return build_goals(loaded, scene, truth, table), scene
    if table.video is None:
        for key in OF_VIDEOS:
            if key in table.model_fields_set and getattr(table, key) is not None:
                raise InputError(f"target.{key}: only a video has one; give target.video")
        return _synthesised(loaded, scene, truth, table), scene
    if table.scene:
        raise InputError("target.scene: a video is not simulated; leave it out, or leave out target.video")
    if table.renderer is not None:
        raise InputError("target.renderer: a video is not rendered; leave it out, or leave out target.video")
    return _recorded(loaded.folder, scene, truth, table)


def choose_frames(target: Target, table: FramesTable) -> tuple[Target, Target | None]:
    """The frames the loss sees, and those kept aside."""
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
    """Numbers of the frames kept aside."""
    if isinstance(table.holdout, list):
        return table.holdout
    first = max(used) + 1 if table.holdout == "later" else 0
    return [i for i in range(first, count) if i not in used]


def _synthesised(loaded: Loaded, scene: Scene, truth: dict[str, Tensor], table: TargetTable) -> Target:
    if not truth and not table.scene:
        raise InputError("truth: this is empty; a synthesised target needs the true values of what is unknown")
    drawn = target_scene(loaded, scene, table.scene) if table.scene else scene
    if table.renderer is not None:
        drawn = drawn.with_renderer(build_renderer(loaded, table.renderer))
    # What is to be learned is shown by true values, not by the network that has yet to learn it.
    drawn = replace(drawn, policy=None)
    made = replace(synthesise(drawn, truth, rate=table.rate, levels=table.levels), goal=table.goal)
    # States of another model are not to be compared with those of the fit.
    return replace(made, q=None) if "model" in table.scene else made


def _segmenter(named: Named, folder: Path, behind: Tensor | None) -> Segmenter:
    """The segmenter that a file names, with a plate beside the file. behind: of target.plate."""
    settings, plate = named.settings, named.settings.get("plate")
    if isinstance(plate, str) and plate not in ("median", "first"):
        settings["plate"] = str(data_path(folder, plate))
    made: Segmenter = make_registered("target.segment", get_segmenter, Named(name=named.name, **settings))
    if behind is not None and isinstance(made, BackgroundPlate) and plate is None:
        return replace(made, plate=behind.to(torch.float32).numpy())
    return made


def _behind(folder: Path, scene: Scene, target: Target, background: str, plate: Tensor | None) -> Tensor:
    """(height, width, 3): what is shown behind the surface, the plate or median of the video, or an image."""
    if background == "median":
        assert target.frames is not None
        return target.frames.median(dim=0).values if plate is None else plate
    image = torch.from_numpy(read_image(folder / background)).to(scene.dtype) / 255.0
    return resize(image, scene.size)


def _plate(folder: Path, scene: Scene, table: TargetTable, part: PlateTable) -> Tensor:
    """(height, width, 3): the median of a part of the video."""
    assert table.video is not None
    shown = read_video(
        data_path(folder, table.video), size=scene.size, begin=part.begin, duration=part.duration, every=part.every,
        rate=table.rate if table.repeats == "keep" else None, reader=video_reader(table.reader), crop=table.crop,
        rotate=table.rotate, gamma=table.gamma,
    ).frames  # fmt: skip
    assert shown is not None
    return shown.median(dim=0).values.to(scene.dtype)


def _recorded(folder: Path, scene: Scene, truth: dict[str, Tensor], table: TargetTable) -> tuple[Target, Scene]:
    assert table.video is not None
    offset = scene.viewpoint.time_offset
    span = scene.steps * scene.dt - offset
    duration = span if table.duration is None else min(span, table.duration)
    if not duration > 0.0:
        raise InputError(f"time_offset: got {offset:g} s; the simulation ends before this video begins")
    target = read_video(
        data_path(folder, table.video), size=scene.size, begin=table.begin, duration=duration, every=table.every,
        # Where repeated frames go, the rate counts those that are left.
        rate=table.rate if table.repeats == "keep" else None, dtype=scene.dtype, reader=video_reader(table.reader),
        crop=table.crop, rotate=table.rotate, gamma=table.gamma,
    )  # fmt: skip
    if target.goes_on and (table.duration is None or table.duration > span):
        warn_of_cut(table.video, span)
    if table.masks is not None:
        if table.segment is not None:
            raise InputError("target.segment: masks are given, and taken as they are; leave out one of the two")
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
        # frames from before the simulation's start have nothing to be compared with
        later = [i for i, time in enumerate(target.times.tolist()) if time + offset >= 0.0]
        if not later:
            raise InputError(f"time_offset: got {offset:g} s; the video ends before the simulation begins")
        target = target.select(later)
    if table.background is not None:
        scene = replace(scene, background=_behind(folder, scene, target, table.background, plate))
    return replace(target, truth=truth, goal=table.goal), scene
