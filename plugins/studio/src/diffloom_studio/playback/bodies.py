"""A surface as it moved, with the states behind it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from diffloom.interfaces import Control, NoGradient, Params, Surface, Trajectory
from diffloom_fitting.scene.frame_times import Sampling, sample_times
from diffloom_fitting.scene.scene import Scene
from diffloom_fitting.scene.simulating import Rollout


@dataclass(frozen=True)
class Body:
    """What moved under one set of values.

    times: (frames,) [s]. vertices: (frames, vertices, 3) [m]. faces: (faces, 3). colours: (vertices, 3) bytes, or None
    where the scene colours it otherwise. trajectory, params: the states at these times, and what they were made with.
    control: the control at these times, a row for each.
    """

    name: str
    times: NDArray[np.float64]
    vertices: NDArray[np.float32]
    faces: NDArray[np.int64]
    colours: NDArray[np.uint8] | None
    trajectory: Trajectory
    params: Params
    control: Control = field(default_factory=Control)


def play(name: str, scene: Scene, values: Mapping[str, Tensor], times: Tensor) -> Body:
    """Simulate ``scene`` with ``values`` and keep its surface at ``times`` [s]."""
    sampling = sample_times(times, scene.dt, scene.steps)
    with torch.no_grad():
        made = scene.rollout(values, sampling.save, NoGradient())
        surface = scene.model.surface(made.trajectory, made.params)
        colours = surface_colours(scene, values, surface)
    return body_of(name, times, sampling, made, surface, colours)


def body_of(
    name: str, times: Tensor, sampling: Sampling, made: Rollout, surface: Surface, colours: NDArray[np.uint8] | None
) -> Body:
    """The body of a simulation whose states were saved as ``sampling`` says."""
    saved = made.trajectory
    q, u = ({name: sampling.between(pair[k]).cpu() for name, pair in saved.sets.items()} for k in (0, 1))
    kept = Trajectory(q, u, sampling.between(saved.times).cpu())
    vertices = sampling.between(surface.vertices) if len(surface.vertices) > 1 else surface.vertices
    moved = vertices.detach().cpu().to(torch.float32).expand(len(times), -1, -1)
    faces, params = surface.faces.cpu().numpy(), Params({k: v.cpu() for k, v in made.params.items()}, made.params.dtype)
    return Body(name, times.numpy(), moved.numpy(), faces, colours, kept, params, _control(made.control, sampling))


def _control(control: Control, sampling: Sampling) -> Control:
    """The row of the step that begins at or before each frame; at the very end, that of the last step."""
    step = torch.tensor(sampling.save)[sampling.low]
    return Control({name: rows[step.clamp(max=len(rows) - 1)].cpu() for name, rows in control.items() if len(rows)})


def surface_colours(scene: Scene, values: Mapping[str, Tensor], surface: Surface) -> NDArray[np.uint8] | None:
    """(vertices, 3) bytes: the colours that the scene gives a surface at first, where each vertex has one."""
    shown = scene.appearance.apply(surface, surface.vertices[0], values.get("appearance.colour"))
    colours = shown.colours
    if colours is None or (shown.colour_per == "face" and colours.dim() > 1):
        return None
    first = colours[0] if colours.dim() == 3 else colours
    found = (first.detach().cpu().clamp(0.0, 1.0) * 255.0).round().to(torch.uint8)
    return found.expand(surface.vertices.shape[1], 3).numpy()
