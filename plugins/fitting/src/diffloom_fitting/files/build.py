"""From checked data to a scene."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from diffloom.interfaces import (
    AmbientLight,
    Checkpointed,
    DirectionalLight,
    InputError,
    Integrator,
    Light,
    Model,
    ParamSpec,
    PointLight,
    Renderer,
    StoreAll,
)
from diffloom.plugins import get_integrator, get_model, get_renderer
from diffloom_fitting.files.load import Loaded
from diffloom_fitting.files.make import make, with_paths
from diffloom_fitting.files.quantities import quantity
from diffloom_fitting.files.schema import LightTable, TimeTable
from diffloom_fitting.scene import Look, Orbit, Scene
from diffloom_fitting.scene.network import network_policy

DTYPES = {"float32": torch.float32, "float64": torch.float64}


def build_scene(loaded: Loaded) -> Scene:
    """The scene of a file, with the known values of [params]; errors name the file."""
    try:
        return _scene(loaded)
    except InputError as error:
        raise InputError(f"{loaded.name}: {error}") from error


def build_renderer(loaded: Loaded, name: str) -> Renderer:
    """The renderer called ``name`` with the settings the file gives for it."""
    settings = loaded.content.renderer.settings_of(name)
    made: Renderer = make(f"renderer.{name}", name, get_renderer(name), settings)
    return made


def _scene(loaded: Loaded) -> Scene:
    content = loaded.content
    dtype = DTYPES[content.precision]
    settings = with_paths(content.model.settings, loaded.folder)
    model: Model = make("model", content.model.name, get_model(content.model.name), settings)
    values = {name: known_value(model, name, value, f"params.{name}") for name, value in content.params.items()}
    integrator: Integrator = make(
        "time.integrator", content.time.integrator.name, get_integrator(content.time.integrator.name),
        content.time.integrator.settings,
    )  # fmt: skip
    camera, look, policy = content.camera, content.look, content.policy
    return Scene(
        model, build_renderer(loaded, content.renderer.name), Orbit(**camera.model_dump()),
        model.params(dtype, **values), content.time.dt, steps_of(content.time), integrator,
        StoreAll() if content.time.gradient == "store_all" else Checkpointed(),
        tuple(_light(light) for light in content.lights), Look(**look.model_dump()),
        policy=None if policy is None else network_policy(model, **policy.model_dump(), seed=content.seed),
        device=content.device,
    )  # fmt: skip


def known_value(model: Model, name: str, value: Any, place: str) -> Any:
    """A parameter's value with its unit checked."""
    return quantity(value, unit_of(model.specs, name), place)


def unit_of(specs: tuple[ParamSpec, ...], name: str) -> str:
    """The unit of a parameter; none for names the model does not know, which it will refuse itself."""
    return next((spec.unit for spec in specs if spec.name == name), "")


def steps_of(time: TimeTable) -> int:
    """How many steps a file asks for."""
    if (time.steps is None) == (time.duration is None):
        raise InputError("time: give either steps or duration")
    if time.steps is not None:
        return time.steps
    assert time.duration is not None
    return max(1, round(time.duration / time.dt))


LIGHTS: Mapping[str, tuple[type[Any], tuple[str, ...]]] = {
    "ambient": (AmbientLight, ("colour",)),
    "point": (PointLight, ("position", "diffuse", "specular")),
    "directional": (DirectionalLight, ("direction", "diffuse", "specular")),
}


def _light(table: LightTable) -> Light:
    kind, allowed = LIGHTS[table.kind]
    given = {k: v for k, v in table.model_dump().items() if k != "kind" and v is not None}
    for key in given:
        if key not in allowed:
            raise InputError(f"lights: a light of kind {table.kind!r} has no {key!r}; it has {', '.join(allowed)}")
    light: Light = kind(**given)
    return light
