"""Many scenes that differ in parameters of their model alone: simulated as one batch, and drawn in one call.

Numbers are those of one scene after the other, to the last bit; only the time it takes is another.
"""

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

#: Scenes that are simulated at once, and about how many pixels are drawn in one call: more would leave the caches.
MOST_SCENES = 32
MOST_PIXELS = 2**19
#: Kinds of model that were found to be unable to run many scenes at once.
_ALONE: set[type[Model]] = set()


def join_scenes(scene: Scene, values: Sequence[Mapping[str, Tensor]]) -> Params | None:
    """The parameters of all places, or None where more than the model's own parameters differ."""
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
    """What the cameras see of each scene of a batch; None where one of the scenes failed, or the model runs no batches.

    params: of all scenes, from `join_scenes`. values: of one of them, for its control. save: steps to save. frames: of
    each camera, by label, between the saved steps, and their times.
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
                drawn = draw_batch(scene.seen_from(label), path, surface, sampling, outputs)
                for b, (image, vertices) in enumerate(drawn):
                    found[b][label] = View(image, states[b], vertices, times)
        return found
    except BatchError:
        _ALONE.add(type(scene.model))
    except SimulationError:
        pass
    return None


def _at_frames(saved: Tensor, sampling: Sampling) -> Tensor:
    """(batch, frames, ...) of (batch, saved steps, ...)."""
    return sampling.between(saved.movedim(1, 0)).movedim(0, 1).contiguous()


def draw_batch(
    scene: Scene, path: Trajectory, surface: Surface, sampling: Sampling, outputs: Sequence[str]
) -> Iterator[tuple[Image, Tensor]]:
    """The images and drawn vertices of each scene of a batch, as ``scene.draw`` makes them; several in each call.

    surface: of all saved states, made by ``batch_surface``.
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
    """Each ``count`` frames for themselves."""
    # Not by slices: the cotangent of each would be an image of all frames.
    parts = {f.name: getattr(image, f.name).split(count) for f in fields(image) if getattr(image, f.name) is not None}
    return [replace(image, **dict(zip(parts, each, strict=True))) for each in zip(*parts.values(), strict=True)]
