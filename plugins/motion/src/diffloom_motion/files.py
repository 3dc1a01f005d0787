"""Experiments from files with a [recording]."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from pydantic import ValidationError
from torch import Tensor

from diffloom.interfaces import InputError
from diffloom.plugins import get_model
from diffloom_experiments import generator_for, resolve_draws
from diffloom_experiments.changes import collect_changes, override, put_variants, read_toml, take_variants
from diffloom_experiments.keys import explain_faults
from diffloom_experiments.make import check_value, make, make_registered, resolve_paths
from diffloom_experiments.values import ScheduleTable
from diffloom_fitting import Schedule, Stop, Unknown, get_optimiser
from diffloom_fitting.unknowns import UnknownLayout
from diffloom_motion.clips import Clip
from diffloom_motion.experiment import MotionExperiment, MotionStage
from diffloom_motion.objective import FrameLoss
from diffloom_motion.recordings import JOINTS, Recording, find_faults
from diffloom_motion.scene import MotionScene, OwnStart, StartRules
from diffloom_motion.schema import ClipsTable, MotionFile, MotionStageTable

#: Deviations of the starts of clips on a fixed base [rad, rad/s], which are sought unless the first sample is taken.
FREE_JOINTS = {"joint_position": 0.05, "joint_velocity": 0.5}


@dataclass(frozen=True)
class LoadedMotion:
    """A checked file.

    Args:
        content: The checked tables.
        raw: Data of the file with all changes and draws put in.
        folder: Folder that relative paths start from.
        name: Name of the file.
    """

    content: MotionFile
    raw: dict[str, Any]
    folder: Path
    name: str


def load_motion(
    path: str | Path, settings: Sequence[str] = (), quick: bool = False, *, variants: Sequence[str] = (),
    changes: Mapping[str, Any] | None = None,
) -> MotionExperiment:  # fmt: skip
    """Read a file and build its experiment.

    Args:
        path: The file.
        settings: Changes as texts, such as "recording.file=other.npz".
        quick: True to put in the file's [variants.quick].
        variants: Names of further [variants.*] tables to put in.
        changes: Changes as values, by dotted place.

    Returns:
        The experiment.

    Raises:
        InputError: The file or its recording cannot be used.
    """
    place = Path(path)
    raw = read_toml(place)
    loaded = load_motion_data(
        raw, place.parent, place.name, settings=settings, changes=changes, quick=quick, variants=variants
    )
    return build_loaded(loaded)


def load_motion_data(
    raw: Mapping[str, Any], folder: Path, name: str, *, settings: Sequence[str] = (),
    changes: Mapping[str, Any] | None = None, quick: bool = False, variants: Sequence[str] = (),
) -> LoadedMotion:  # fmt: skip
    """Check the data of a file, with changes and draws put in; the arguments are those of ``ExperimentKind.load``."""
    data = dict(raw)
    offered = take_variants(data, name)
    try:
        data = override(put_variants(data, offered, quick, variants), collect_changes(settings, changes))
        seed = data.get("seed", 0)
        data = resolve_draws(data, seed if isinstance(seed, int) else 0, late=())
        content = MotionFile.model_validate(data)
    except ValidationError as error:
        told = f"{name}, a file about measured motion by its [recording], cannot be used"
        raise InputError(
            "\n".join([f"{told}:", explain_faults(error, MotionFile), *_recording_faults(data)])
        ) from error
    except InputError as error:
        raise InputError(f"{name}: {error}") from error
    return LoadedMotion(content, data, folder, name)


def _recording_faults(data: Mapping[str, Any]) -> list[str]:
    """Return lines about everything that a file's [recording] lacks, beside what its schema says."""
    table = data.get("recording")
    if not isinstance(table, Mapping) or "columns" not in table:
        return []
    return [f"  recording.{fault}" for fault in find_faults(table)]


def build_loaded(loaded: LoadedMotion) -> MotionExperiment:
    """Build the experiment of a checked file; errors name the file."""
    try:
        return build_motion(loaded.content, loaded.folder)
    except InputError as error:
        raise InputError(f"{loaded.name}: {error}") from error


def build_motion(content: MotionFile, folder: Path) -> MotionExperiment:
    """Build an experiment from checked tables.

    Args:
        content: The tables.
        folder: Folder that relative paths start from.

    Returns:
        The experiment.
    """
    name = content.model.name
    model = make("model", name, get_model(name), resolve_paths(content.model.settings, folder))
    params = {key: check_value(model, key, value, f"params.{key}") for key, value in content.params.items()}
    start, loss = content.start, content.loss
    unsought = [name for name in content.truth if name not in content.unknowns]
    if unsought:
        raise InputError(f"truth.{unsought[0]}: this is not an unknown; expected some of {', '.join(content.unknowns)}")
    recording = Recording(**content.recording.model_dump())
    free = start.free
    if not free and recording.fixed and start.rule != "sample":
        free = FREE_JOINTS
    own = OwnStart(free, start.noise, len(recording.columns.get(JOINTS, ()))) if free else None
    rules = StartRules(
        params,
        content.substeps,
        loss.rotation_length,
        start.rule,
        start.tolerance,
        own,
        loss.joint_length,
        content.clips.grounded,
        start.frames,
    )
    if start.rule == "fitted" and own is None:
        raise InputError("start: the rule 'fitted' needs start.free; name parts of the start with their deviations")
    clips = recording.read(folder)
    if content.clips.pieces is not None:
        length = content.clips.pieces
        clips = [piece for clip in clips for piece in clip.windows(length, length) if len(piece) == length]
        if not clips:
            raise InputError(f"clips.pieces: no clip has {length} frames; lower it")
    fit, holdout = split_clips(clips, content.clips)
    scene = MotionScene(model, fit, rules)
    if content.clips.windows is not None:
        # Windows are cut after whole clips were moved onto the ground.
        frames, stride = content.clips.windows
        cut = [window for clip in scene.clips for window in clip.windows(frames, stride)]
        scene = MotionScene(model, cut, replace(rules, grounded=False))
    made = MotionExperiment(
        scene, tuple(Unknown(name, **table.model_dump()) for name, table in content.unknowns.items()),
        tuple(_stage(table, f"stages.{number}") for number, table in enumerate(content.stages)),
        FrameLoss(loss.name, loss.threshold), MotionScene(model, holdout, rules) if holdout else None,
        probe=content.starts.probe, enough=content.starts.accept_loss, seed=content.seed, title=content.title,
        true_values=content.truth, documented=content.documented, width=content.width,
    )  # fmt: skip
    # Raise for a start outside of its bounds before anything is written.
    UnknownLayout(made.shared, torch.float64).start()
    return replace(made, starts=_further_starts(made, content))


def _stage(table: MotionStageTable, place: str) -> MotionStage:
    optimiser = make_registered(f"{place}.optimiser", get_optimiser, table.optimiser)
    threshold = {} if table.threshold is None else {"threshold": _schedule(table.threshold, 1.0)}
    return MotionStage(
        optimiser, table.iterations, _schedule(table.rate, 1.0), _schedule(table.horizon, 1.0), loss_settings=threshold,
        only=None if table.only is None else tuple(table.only), stop=Stop(**table.stop.model_dump()),
        frames=table.frames, flight=table.flight, fixed=table.fixed,
    )  # fmt: skip


def _schedule(value: ScheduleTable | float | None, otherwise: float) -> Schedule:
    if isinstance(value, ScheduleTable):
        return Schedule(**value.model_dump())
    fixed = otherwise if value is None else float(value)
    return Schedule(fixed, fixed)


def _further_starts(made: MotionExperiment, content: MotionFile) -> tuple[dict[str, Tensor], ...]:
    """Return the starts after the first, scattered around it."""
    starts = []
    for number in range(1, content.starts.count):
        values = {}
        for slot in made.shared:
            noise = torch.randn(
                slot.shape, generator=generator_for(content.seed, f"starts {number} {slot.name}"), dtype=torch.float64
            )
            z = slot.space.encode(slot.start, slot.name) + content.starts.scatter * noise
            values[slot.name] = slot.space.decode(z)
        starts.append(values)
    return tuple(starts)


def split_clips(clips: Sequence[Clip], table: ClipsTable) -> tuple[list[Clip], list[Clip]]:
    """Split clips into those of the fit and the holdout."""
    named = select_clips(clips, table.fit, "clips.fit")
    fit = named[: max(1, int(table.share * len(clips)))]
    if table.holdout is None:
        return fit, []
    used = {clip.name for clip in fit}
    if table.holdout == "rest":
        holdout = [clip for clip in clips if clip.name not in used]
        if not holdout:
            raise InputError(
                f"clips.holdout: {len(fit)} of {len(clips)} clips are fitted, so none is left for the holdout; lower "
                "clips.share, name fewer in clips.fit, or take a recording with more clips"
            )
    else:
        holdout = select_clips(clips, table.holdout, "clips.holdout")
    twice = used & {clip.name for clip in holdout}
    if twice:
        raise InputError(f"clips: {len(twice)} clips are both in fit and in holdout, such as {sorted(twice)[0]}")
    if table.holdout_limit is not None and len(holdout) > table.holdout_limit:
        evenly = np.linspace(0, len(holdout) - 1, table.holdout_limit).round().astype(int)
        holdout = [holdout[i] for i in evenly]
    return fit, holdout


def select_clips(clips: Sequence[Clip], which: str, place: str) -> list[Clip]:
    """Select clips by a text first:end or first:end:step."""
    try:
        parts = [int(part) if part.strip() else None for part in which.split(":")]
        found = list(clips[slice(*parts)]) if len(parts) in (2, 3) else None
    except ValueError:
        found = None
    if found is None:
        raise InputError(f"{place}: got {which!r}; expected first:end or first:end:step, such as 0:100")
    if not found:
        told = ', or "rest" for all that are not fitted' if place == "clips.holdout" else ""
        raise InputError(
            f"{place}: {which!r} names none of the {len(clips)} clips of this recording; name some of 0 to "
            f"{len(clips) - 1}{told}"
        )
    return found
