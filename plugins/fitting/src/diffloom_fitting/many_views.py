"""What is seen at many places of an objective: simulated as one batch, and drawn in one call.

Numbers are those of one place after the other, to the last bit; only the time it takes is another. Gauss-Newton's
columns, the populations of a search and the points of a landscape are asked for so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from diffloom import batch_surface, simulate
from diffloom.interfaces import (
    BatchError,
    Gradient,
    Image,
    Model,
    NoGradient,
    Params,
    SimulationError,
    Surface,
    Trajectory,
)
from diffloom_fitting.scene import Sampling, Scene, Sensor, View, coordinates

if TYPE_CHECKING:
    from diffloom_fitting.objective import Objective

#: Where an objective is asked.
Place = tuple["Objective", Tensor]
#: Places that are simulated at once, and about how many pixels are drawn in one call: more would leave the caches.
MOST_PLACES = 32
MOST_PIXELS = 2**19
#: Kinds of model that were found to be unable to run many scenes at once.
_ALONE: set[type[Model]] = set()


def alike(objective: Objective) -> tuple[object, ...]:
    """What objectives have in common whose places can be simulated and drawn together."""
    return id(objective.scene), id(objective.target), objective.loss.outputs


def runs_together(objective: Objective, z: Tensor) -> bool:
    """Whether places such as ``z`` are simulated as a batch, as far as is known beforehand."""
    with torch.no_grad():
        return _plain(objective) and batch_of(objective.scene, [objective.values(z)]) is not None


def many_views(places: Sequence[Place]) -> Iterator[dict[str, View]]:
    """What each objective sees at its place, without gradient; SimulationError where one cannot be simulated.

    places: of one objective, or of several that are ``alike``.
    """
    for first in range(0, len(places), MOST_PLACES):
        part = places[first : first + MOST_PLACES]
        with torch.no_grad():
            seen = views_together(part, NoGradient())
        if seen is not None:
            yield from seen
            continue
        for objective, z in part:
            with torch.no_grad():  # not around the yield: who asks may want gradients in between
                alone = objective.views(z, gradient=False)
            yield alone


def views_together(places: Sequence[Place], gradient: Gradient | None = None) -> list[dict[str, View]] | None:
    """The same as one batch, differentiable unless ``gradient`` says otherwise; None where that cannot be, or where one
    of the places failed: one by one it is known which."""
    objective = places[0][0]
    if len(places) < 2 or not _plain(objective):
        return None
    values = [one.values(z) for one, z in places]
    params = batch_of(objective.scene, values)
    if params is None:
        return None
    try:
        return _seen(objective, params, values[0], gradient or objective.scene.gradient)
    except BatchError:
        _ALONE.add(type(objective.scene.model))
    except SimulationError:
        pass
    return None


def _plain(objective: Objective) -> bool:
    """Whether all that is asked for are images or states at the frames' times."""
    plain = all(view.sensor == Sensor() for view in objective.scene.viewpoints.values())
    return plain and objective.costs is None and objective.loss.outputs != ("outline",)


def batch_of(scene: Scene, values: Sequence[Mapping[str, Tensor]]) -> Params | None:
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


def _seen(
    objective: Objective, params: Params, values: Mapping[str, Tensor], gradient: Gradient
) -> list[dict[str, View]]:
    scene, outputs = objective.scene, objective.loss.outputs
    whole, parts = objective.sampling(values)
    with objective.stopwatch.timing("simulate"):
        path = simulate(
            scene.model, params, dt=scene.dt, steps=whole.save[-1], save=whole.save, integrator=scene.integrator,
            gradient=gradient, control=scene.control_with(values, whole.save[-1]),
        )  # fmt: skip
        surface = batch_surface(scene.model, path, params) if outputs else None
    count = int(params.batch or 1)
    every = coordinates(path)
    found: list[dict[str, View]] = [{} for _ in range(count)]
    for label, target in objective.target.by_view().items():
        states = _at_frames(every, parts[label]).unbind()
        if surface is None:
            for b in range(count):
                found[b][label] = View(None, states[b], None, target.times)
            continue
        with objective.stopwatch.timing("render"):
            drawn = draw_many(scene.seen_from(label), path, surface, parts[label], outputs)
            for b, (image, vertices) in enumerate(drawn):
                found[b][label] = View(image, states[b], vertices, target.times)
    return found


def _at_frames(saved: Tensor, sampling: Sampling) -> Tensor:
    """(batch, frames, ...) of (batch, saved steps, ...)."""
    return sampling.between(saved.movedim(1, 0)).movedim(0, 1).contiguous()


def draw_many(
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
