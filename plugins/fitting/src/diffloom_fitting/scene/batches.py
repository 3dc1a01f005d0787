"""Batches of scenes that differ only in parameters of their model, with the bits of single scenes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace

import torch
from torch import Tensor

from diffloom import batch_surface, simulate
from diffloom.interfaces import BatchError, Gradient, Image, Model, Params, SimulationError, Surface, Trajectory
from diffloom_fitting.scene.frame_times import Sampling
from diffloom_fitting.scene.scene import Scene, View, coordinates
from diffloom_fitting.stopwatch import Stopwatch

#: Number of scenes that are simulated at once, and of pixels that are drawn in one call; more would leave the caches.
MOST_SCENES = 32
MOST_PIXELS = 2**19
#: Classes of models that turned out not to run batches.
_ALONE: set[type[Model]] = set()


def join_scenes(scene: Scene, values: Sequence[Mapping[str, Tensor]]) -> Params | None:
    """Join the parameters of several scenes into those of one batch.

    Args:
        scene: The scene.
        values: Parameters of each scene, by name.

    Returns:
        The joined parameters; None if more than the model's own parameters differ.
    """
    own = {spec.name for spec in scene.model.specs}
    if type(scene.model) in _ALONE:
        return None
    if scene.device != "cpu" or scene.policy is not None or scene.windows or not values[0] or not set(values[0]) <= own:
        return None
    rows = {name: torch.stack([value[name] for value in values]) for name in values[0]}
    known = {name: value for name, value in scene.params.items() if name not in rows}
    checked = scene.params.checked - rows.keys()
    return Params({**known, **rows}, scene.dtype, checked, batch=len(values), per_scene=frozenset(rows))


def render_batch_views(
    scene: Scene, params: Params, values: Mapping[str, Tensor], save: tuple[int, ...],
    frames: Mapping[str, tuple[Sampling, Tensor]], outputs: Sequence[str], gradient: Gradient, stopwatch: Stopwatch,
) -> list[dict[str, View]] | None:  # fmt: skip
    """Simulate a batch and render the views of each scene.

    Args:
        scene: The scene.
        params: Parameters of the batch, from `join_scenes`.
        values: Parameters of one scene, for its control.
        save: Steps to save.
        frames: Frames of each camera, by label, between the saved steps, and their times.
        outputs: Outputs to render.
        gradient: Gradient policy of the simulation.
        stopwatch: Time by part of the work.

    Returns:
        Views of each scene by label; None if a scene failed or the model runs no batches.
    """
    try:
        with stopwatch.timing("simulate"):
            path = simulate(
                scene.model, params, dt=scene.dt, steps=save[-1], save=save, integrator=scene.integrator,
                gradient=gradient, control=scene.make_control(values, save[-1]),
            )  # fmt: skip
            surface = batch_surface(scene.model, path, params) if outputs else None
        count = int(params.batch or 1)
        every = coordinates(path)
        found: list[dict[str, View]] = [{} for _ in range(count)]
        for label, (sampling, times) in frames.items():
            states = _at_frames(every, sampling).unbind()
            if surface is None:
                for b in range(count):
                    found[b][label] = View(None, states[b], None, times)
                continue
            with stopwatch.timing("render"):
                drawn = draw_batch(scene.select_view(label), path, surface, sampling, outputs)
                for b, (image, vertices) in enumerate(drawn):
                    found[b][label] = View(image, states[b], vertices, times)
        return found
    except BatchError:
        _ALONE.add(type(scene.model))
    except SimulationError:
        pass
    return None


def _at_frames(saved: Tensor, sampling: Sampling) -> Tensor:
    """Interpolate saved steps (batch, saved steps, ...) to frames (batch, frames, ...)."""
    return sampling.between(saved.movedim(1, 0)).movedim(0, 1).contiguous()


def draw_batch(
    scene: Scene, path: Trajectory, surface: Surface, sampling: Sampling, outputs: Sequence[str]
) -> Iterator[tuple[Image, Tensor]]:
    """Draw each scene of a batch as ``scene.draw`` does, several in each call.

    Args:
        scene: The scene, with one camera.
        path: States of the batch.
        surface: Surface of all saved states, from ``batch_surface``.
        sampling: Frames between the saved steps.
        outputs: Outputs to render.

    Returns:
        Images and drawn vertices of each scene.
    """
    count, frames = int(path.batch or 1), len(sampling.low)
    vertices = _at_frames(surface.vertices.unflatten(0, (count, -1)), sampling)
    colours = surface.colours
    if colours is not None and colours.dim() == 3:
        colours = _at_frames(colours.unflatten(0, (count, -1)), sampling)
    times = sampling.between(path.times)
    step = max(1, MOST_PIXELS // max(1, frames * scene.size[0] * scene.size[1]))
    for first in range(0, count, step):
        part = slice(first, min(first + step, count))
        shades = colours[part].flatten(0, 1) if colours is not None and colours.dim() == 4 else colours
        whole = replace(surface, vertices=vertices[part].flatten(0, 1), colours=shades)
        image = scene.draw_surface(whole, times.repeat(part.stop - first), outputs)
        yield from zip(_frames_of(image, frames), vertices[part].unbind(), strict=True)


def _frames_of(image: Image, count: int) -> list[Image]:
    """Split an image into parts of ``count`` frames."""
    # ``split`` instead of slices, because the cotangent of each slice would be an image of all frames.
    parts = {f.name: getattr(image, f.name).split(count) for f in fields(image) if getattr(image, f.name) is not None}
    return [replace(image, **dict(zip(parts, each, strict=True))) for each in zip(*parts.values(), strict=True)]
