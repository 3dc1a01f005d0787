"""Target, start and fit as one view shows them: frames, and the surfaces that were drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from diffloom.interfaces import Camera, NoGradient, SimulationError
from diffloom_fitting.experiment import Experiment
from diffloom_fitting.scene.frame_times import sample_times
from diffloom_fitting.scene.scene import Scene
from diffloom_studio.playback.bodies import Body, body_of, play, surface_colours
from diffloom_studio.playback.cameras import camera_at
from diffloom_studio.playback.playback import true_values
from diffloom_studio.report.video import Frames

MOST = 90  # frames in a video


@dataclass(frozen=True)
class Panels:
    """Frames (frames, height, width, 3) bytes of each, at ``times`` [s] of the video; target is None when it has no
    images. bodies: what was drawn, by name: "start", "fit", and "truth" where all of it is known. camera: that of the
    fit. offset: the simulation's time less the video's [s]."""

    times: NDArray[np.float64]
    target: Frames | None
    guess: Frames
    fit: Frames
    bodies: Mapping[str, Body]
    camera: Camera
    offset: float = 0.0


def render_panels(experiment: Experiment, z: Tensor) -> dict[str, Panels]:
    """Draw the start and the result at the target's times, those kept aside included; for each view, by label."""
    found = {}
    for label, view in experiment.scene.viewpoints.items():
        scene = experiment.scene.seen_from(label)
        times, wanted = _target_frames(experiment, label)
        moments = times + view.time_offset
        drawn, bodies = [], {}
        for name, point in (("start", experiment.start(0)), ("fit", z)):
            with torch.no_grad():
                values = experiment.layout.decode(point)
                frames, bodies[name] = _drawn(name, scene, values, moments)
            drawn.append(frames)
        bodies |= _truth(experiment, scene, moments)
        camera = camera_at(scene, label, values, times)
        found[label] = Panels(times.numpy(), wanted, drawn[0], drawn[1], bodies, camera, view.time_offset)
    return found


def _drawn(name: str, scene: Scene, values: Mapping[str, Tensor], moments: Tensor) -> tuple[Frames, Body]:
    """Images as the camera records them, over its exposure and row by row, and the body in the middle of each."""
    seen = scene.exposed(moments, values).clamp(0.0, scene.steps * scene.dt)
    sampling = sample_times(seen, scene.dt, scene.steps)
    made = scene.rollout(values, sampling.save, NoGradient())
    image, _ = scene.draw(made.trajectory, made.params, values, ("rgba",), sampling)
    frames: Frames = image.bytes()[..., :3].numpy()
    if len(seen) > len(moments):
        return frames, play(name, scene, values, seen.unflatten(0, (len(moments), -1)).mean(dim=1))
    surface = scene.model.surface(made.trajectory, made.params)
    return frames, body_of(name, seen, sampling, made, surface, surface_colours(scene, values, surface))


def _truth(experiment: Experiment, scene: Scene, moments: Tensor) -> dict[str, Body]:
    """The body with the true values, where all of them are known and run."""
    values = true_values(experiment)
    try:
        return {} if values is None else {"truth": play("truth", scene, values, moments)}
    except SimulationError:
        return {}


def _target_frames(experiment: Experiment, label: str) -> tuple[Tensor, Frames | None]:
    holdout = None if experiment.holdout is None else experiment.holdout.by_view().get(label)
    parts = [experiment.target.by_view()[label], *([] if holdout is None else [holdout])]
    times = torch.cat([part.times for part in parts])
    order = times.argsort()
    if len(order) > MOST:
        order = order[torch.linspace(0, len(order) - 1, MOST).round().long()]
    images = [part.frames if part.frames is not None else part.masks for part in parts]
    if any(p is None for p in images):
        return times[order], None
    frames = torch.cat([p if p.dim() == 4 else p[..., None].expand(*p.shape, 3) for p in images if p is not None])
    shown = (frames[order][..., :3].clamp(0.0, 1.0) * 255.0).round().to(torch.uint8)
    return times[order], shown.numpy()
