"""True values and starts of the unknowns of a file, with their draws."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from diffloom.interfaces import InputError
from diffloom.validation import suggest_name
from diffloom_experiments.load import Loaded, draw, draw_opposite, generator_for
from diffloom_experiments.make import check_value
from diffloom_experiments.schema import ExperimentFile, UnknownTable
from diffloom_experiments.values import is_draw
from diffloom_fitting import Unknown
from diffloom_fitting.scene import Scene, list_seekable
from diffloom_fitting.targets import make_true_values
from diffloom_fitting.unknowns import can_be_sought, resolve


def build_truth(loaded: Loaded, scene: Scene) -> dict[str, Tensor]:
    """Return the true values of a file, with its draws.

    Args:
        loaded: Checked file.
        scene: Scene of the file.

    Returns:
        Tensors by name.
    """
    content = loaded.content
    check_scene_names("truth", content.truth, scene)
    values = {name: _value(scene, name, value, content.seed, f"truth.{name}") for name, value in content.truth.items()}
    return make_true_values(scene, values)


def check_scene_names(table: str, names: Mapping[str, Any], scene: Scene) -> None:
    """Raise InputError for names that the scene does not have."""
    allowed = list_seekable(scene)
    for name in names:
        if not can_be_sought(name, scene):
            raise InputError(
                f"{table}.{name}: the scene has nothing called {name!r}{suggest_name(name, allowed) or '.'} It has: "
                f"{', '.join(allowed)}"
            )


def _value(scene: Scene, name: str, value: Any, seed: int, place: str) -> Any:
    """Return a checked value, drawn if the file asks for a draw."""
    if is_draw(value):
        shape: tuple[int, ...] = ()
        if value.get("each"):
            shape = scene.model.spec(name).full_shape(scene.model.axes)
        found = draw(value, seed, place, shape)
        return found.to(scene.dtype) if isinstance(found, Tensor) else found
    if isinstance(value, list):
        value = [float(draw(v, seed, f"{place}.{n}")) if is_draw(v) else v for n, v in enumerate(value)]
    return check_value(scene.model, name, value, place)


def make_start(
    scene: Scene, name: str, table: UnknownTable, truth: Mapping[str, Tensor], seed: int, number: int,
    across: bool = False,
) -> Any:  # fmt: skip
    """Return one of several start values; with ``across`` the second is opposite the first in the range of the draw."""
    across = across and number == 1
    place = f"unknowns.{name}.start" + (f" {number}" if number and not across else "")
    if table.start is None:
        return None
    if not is_draw(table.start):
        return check_value(scene.model, name, table.start, place)
    asked = {**table.start, "each": table.start.get("each", table.each)}
    value = _value(scene, name, asked, seed, place)
    value = draw_opposite(table.start, value) if across else value
    if not table.start.get("of_truth"):
        return value
    if name not in truth:
        raise InputError(f"{place}: of_truth needs the true value; give truth.{name}")
    return value * truth[name]


def make_further_starts(
    content: ExperimentFile, scene: Scene, unknowns: list[Unknown], truth: Mapping[str, Tensor]
) -> tuple[dict[str, Tensor], ...]:
    """Return the starts after the first: drawn again if the file draws, else scattered around the first."""
    layout = resolve(unknowns, scene)
    starts: list[dict[str, Tensor]] = []
    for number in range(1, content.starts.count):
        values: dict[str, Tensor] = {}
        for slot in layout.slots:
            table = content.unknowns[slot.name] if slot.name in content.unknowns else UnknownTable()
            if is_draw(table.start):
                drawn = make_start(scene, slot.name, table, truth, content.seed, number, content.starts.opposite)
                values[slot.name] = torch.as_tensor(drawn, dtype=scene.dtype).expand(slot.shape)
            else:
                generator = generator_for(content.seed, f"starts {number} {slot.name}")
                noise = torch.randn(slot.size, generator=generator, dtype=torch.float64).to(scene.dtype)
                z = slot.space.encode(slot.start, slot.name).reshape(-1) + content.starts.scatter * noise
                values[slot.name] = slot.space.decode(z.reshape(slot.shape))
        starts.append(values)
    return tuple(starts)
