"""Target, start and fit as one view shows them: frames, and the surfaces that were drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from diffloom.interfaces import Camera, NoGradient, SimulationError, Trajectory
from diffloom_fitting.experiment import Experiment
from diffloom_fitting.report.video import Frames
from diffloom_fitting.scene.frame_times import sample_times
from diffloom_fitting.scene.placement import camera_of
from diffloom_fitting.scene.scene import Scene, camera_prefix

MOST = 90  # frames in a video


@dataclass(frozen=True)
class Solid:
    """A surface as it moved. vertices: (frames, vertices, 3) [m]. faces: (faces, 3). colours: (vertices, 3) bytes, or
    None where they are given otherwise."""

    vertices: NDArray[np.float32]
    faces: NDArray[np.int64]
    colours: NDArray[np.uint8] | None


@dataclass(frozen=True)
class Panels:
    """Frames (frames, height, width, 3) bytes of each, at ``times`` [s] of the video; target is None when it has no
    images. solids: what was drawn, by name: "start", "fit", and "truth" where all of it is known. camera: that of the
    fit. offset: the simulation's time less the video's [s]."""

    times: NDArray[np.float64]
    target: Frames | None
    guess: Frames
    fit: Frames
    solids: Mapping[str, Solid]
    camera: Camera
    offset: float = 0.0


def render_panels(experiment: Experiment, z: Tensor) -> dict[str, Panels]:
    """Draw the start and the result at the target's times, those kept aside included; for each view, by label."""
    found = {}
    for label, view in experiment.scene.viewpoints.items():
        scene = experiment.scene.seen_from(label)
        times, wanted = _target_frames(experiment, label)
        moments = times + view.time_offset
        drawn, solids = [], {}
        for name, point in (("start", experiment.start(0)), ("fit", z)):
            with torch.no_grad():
                values = experiment.layout.decode(point)
                frames, solids[name] = _drawn(scene, values, moments)
            drawn.append(frames)
        solids |= _truth(experiment, scene, moments)
        camera = _camera(scene, values, times)
        found[label] = Panels(times.numpy(), wanted, drawn[0], drawn[1], solids, camera, view.time_offset)
    return found


def _drawn(scene: Scene, values: Mapping[str, Tensor], moments: Tensor) -> tuple[Frames, Solid]:
    sampling = sample_times(moments, scene.dt, scene.steps)
    trajectory, params = scene.simulate(values, sampling.save, NoGradient())
    image, vertices = scene.draw(trajectory, params, values, ("rgba",), sampling)
    frames: Frames = image.bytes()[..., :3].numpy()
    return frames, _solid(scene, trajectory, values, vertices)


def _truth(experiment: Experiment, scene: Scene, moments: Tensor) -> dict[str, Solid]:
    """The surface with the true values, where all of them are known and run."""
    truth = experiment.target.truth
    if not all(slot.name in truth and slot.only is None for slot in experiment.layout.slots):
        return {}
    sampling = sample_times(moments, scene.dt, scene.steps)
    with torch.no_grad():
        values = experiment.layout.decode(experiment.layout.encode(truth))
        try:
            trajectory, params = scene.simulate(values, sampling.save, NoGradient())
        except SimulationError:
            return {}
        vertices = sampling.between(scene.model.surface(trajectory, params).vertices)
        return {"truth": _solid(scene, trajectory, values, vertices)}


def _solid(scene: Scene, trajectory: Trajectory, values: Mapping[str, Tensor], vertices: Tensor) -> Solid:
    params = scene.params_with(values)
    first = Trajectory(trajectory.q[:1], trajectory.u[:1], trajectory.times[:1])
    surface = scene.model.surface(first, params)
    shown = scene.appearance.apply(surface, surface.vertices[0], values.get("appearance.colour")).colours
    colours = None
    if shown is not None and shown.shape == (vertices.shape[1], 3):
        colours = (shown.cpu().clamp(0.0, 1.0) * 255.0).round().to(torch.uint8).numpy()
    return Solid(vertices.cpu().to(torch.float32).numpy(), surface.faces.cpu().numpy(), colours)


def _camera(scene: Scene, values: Mapping[str, Tensor], times: Tensor) -> Camera:
    prefix = camera_prefix(next(iter(scene.viewpoints)))
    places = {k.removeprefix(prefix): v.detach() for k, v in values.items() if k.startswith(prefix)}
    return camera_of(scene.viewpoint.camera, scene.dtype, places, times)


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
