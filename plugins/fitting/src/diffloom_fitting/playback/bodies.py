"""A surface as it moved, with the states behind it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from diffloom.interfaces import NoGradient, Params, Trajectory
from diffloom_fitting.scene.frame_times import sample_times
from diffloom_fitting.scene.scene import Scene


@dataclass(frozen=True)
class Body:
    """What moved under one set of values.

    times: (frames,) [s]. vertices: (frames, vertices, 3) [m]. faces: (faces, 3). colours: (vertices, 3) bytes, or None
    where the scene colours it otherwise. trajectory, params: the states at these times, and what they were made with.
    """

    name: str
    times: NDArray[np.float64]
    vertices: NDArray[np.float32]
    faces: NDArray[np.int64]
    colours: NDArray[np.uint8] | None
    trajectory: Trajectory
    params: Params


def play(name: str, scene: Scene, values: Mapping[str, Tensor], times: Tensor) -> Body:
    """Simulate ``scene`` with ``values`` and keep its surface at ``times`` [s]."""
    sampling = sample_times(times, scene.dt, scene.steps)
    with torch.no_grad():
        saved, params = scene.simulate(values, sampling.save, NoGradient())
        kept = Trajectory(sampling.between(saved.q), sampling.between(saved.u), sampling.between(saved.times))
        surface = scene.model.surface(saved, params)
        vertices = sampling.between(surface.vertices) if len(surface.vertices) > 1 else surface.vertices
        colours = surface_colours(scene, values, surface.vertices[0], surface.faces)
    found = vertices.cpu().to(torch.float32).expand(len(times), -1, -1)
    return Body(name, times.numpy(), found.numpy(), surface.faces.cpu().numpy(), colours, kept, params)


def surface_colours(
    scene: Scene, values: Mapping[str, Tensor], rest: Tensor, faces: Tensor
) -> NDArray[np.uint8] | None:
    """(vertices, 3): the colours of a surface at ``rest`` (vertices, 3), where each vertex has one."""
    from diffloom.interfaces import Surface

    plain = Surface(rest[None], faces)
    shown = scene.appearance.apply(plain, rest, values.get("appearance.colour")).colours
    if shown is None:
        return None
    colours = (shown.cpu().clamp(0.0, 1.0) * 255.0).round().to(torch.uint8)
    return colours.expand(len(rest), 3).numpy() if colours.dim() <= 2 else None
