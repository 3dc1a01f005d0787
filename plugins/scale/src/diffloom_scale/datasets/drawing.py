"""Videos of an experiment with values drawn anew: scenes of one kind are simulated and drawn together."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from diffloom import batch_surface, simulate
from diffloom.interfaces import BatchError, InputError, NoGradient, SimulationError
from diffloom_experiments import Loaded, build_scene
from diffloom_experiments.build import build_renderer
from diffloom_experiments.experiments import build_truth
from diffloom_fitting.scene import MOST_SCENES, Scene, Sensor, batch_of, draw_batch, sample_times
from diffloom_fitting.targets.synthesis import video_times

Frames = NDArray[np.uint8]
#: What of a file differs from video to video without making another scene.
_DRAWN_LATE = ("seed", "truth", "unknowns")


@dataclass(frozen=True)
class Video:
    """frames: (frames, height, width, 3). values: the true values by name. model: the file's table, draws put in.
    failed: why there is no video of these values, or None."""

    index: int
    frames: Frames
    times: list[float]
    values: dict[str, Any]
    model: dict[str, Any]
    failed: str | None = None


def draw_videos(files: Sequence[tuple[int, Loaded]]) -> list[Video]:
    """The videos of some indices, in their order. files: each with the file as drawn for it."""
    groups: dict[str, list[tuple[int, Loaded]]] = {}
    for index, loaded in files:
        groups.setdefault(_kind(loaded), []).append((index, loaded))
    found: list[Video] = []
    with torch.no_grad():
        for members in groups.values():
            scene = _scene(members[0][1])
            for first in range(0, len(members), MOST_SCENES):
                found += _together(scene, members[first : first + MOST_SCENES])
    return sorted(found, key=lambda video: video.index)


def _kind(loaded: Loaded) -> str:
    """What tells scenes of one kind from others."""
    return json.dumps({k: v for k, v in loaded.raw.items() if k not in _DRAWN_LATE}, sort_keys=True, default=str)


def _scene(loaded: Loaded) -> Scene:
    if loaded.content.views:
        raise InputError(f"{loaded.name}: dataset: it has several views; expected one camera")
    table = loaded.content.target
    if table is not None and table.video is not None:
        raise InputError(f"{loaded.name}: dataset: target.video is a recording; expected a synthesised target")
    scene = build_scene(loaded)
    renderer = None if table is None else table.renderer
    return scene if renderer is None else scene.with_renderer(build_renderer(loaded, renderer))


def _together(scene: Scene, members: Sequence[tuple[int, Loaded]]) -> list[Video]:
    values = [build_truth(loaded, scene) for _, loaded in members]
    table = members[0][1].content.target
    rate = 1.0 / scene.dt if table is None or table.rate is None else float(table.rate)
    offset = scene.viewpoint.time_offset
    times = video_times(scene.steps * scene.dt, offset, rate)
    failed: list[str | None] = [None] * len(members)
    pixels = _videos(scene, values, times + offset)
    if pixels is None:
        pixels = [np.zeros((0, *scene.size, 3), np.uint8)] * len(members)
        for k, value in enumerate(values):
            try:
                image = scene.render(value, times + offset, ("rgba",), NoGradient()).image
                assert image is not None
                pixels[k] = image.bytes()[..., :3].numpy()
            except SimulationError as error:
                failed[k] = str(error)
    return [
        Video(
            index, pixels[k], times.tolist(), {name: value.tolist() for name, value in values[k].items()},
            dict(loaded.raw.get("model", {})), failed[k],
        )
        for k, (index, loaded) in enumerate(members)
    ]  # fmt: skip


def _videos(scene: Scene, values: Sequence[dict[str, Tensor]], times: Tensor) -> list[Frames] | None:
    """The frames of each video, or None where they cannot be made together."""
    # A shutter needs times of its own, and what is drawn together has none.
    plain = scene.viewpoint.sensor == Sensor()
    params = batch_of(scene, values) if len(values) > 1 and plain else None
    if params is None:
        return None
    sampling = sample_times(times, scene.dt, scene.steps)
    try:
        path = simulate(
            scene.model, params, dt=scene.dt, steps=sampling.save[-1], save=sampling.save, integrator=scene.integrator,
            gradient=NoGradient(), control=scene.control_with({}, sampling.save[-1]),
        )  # fmt: skip
        drawn = draw_batch(scene, path, batch_surface(scene.model, path, params), sampling, ("rgba",))
        return [image.bytes()[..., :3].numpy() for image, _ in drawn]
    except (SimulationError, BatchError):
        return None
