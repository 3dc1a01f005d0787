"""Scenes from checked data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

import torch

from diffloom.interfaces import (
    AmbientLight,
    Checkpointed,
    DirectionalLight,
    InputError,
    Integrator,
    Light,
    Model,
    Params,
    PointLight,
    Renderer,
    StoreAll,
)
from diffloom.plugins import get_integrator, get_renderer, renderers
from diffloom.validation import suggest_name
from diffloom_control import Network, make_network_policy
from diffloom_experiments.auto_step import choose_step, count_steps
from diffloom_experiments.load import Loaded, MissingDataError, data_path
from diffloom_experiments.make import check_value, make, make_registered
from diffloom_experiments.models import add_terms, build_bare_model
from diffloom_experiments.schema import (
    CameraTable,
    ExperimentFile,
    LightTable,
    PolicyTable,
    SizeTable,
    TargetTable,
)
from diffloom_experiments.values import Named, Table
from diffloom_fitting import get_camera
from diffloom_fitting.scene import (
    Appearance,
    CameraPlacement,
    Cameras,
    Orbit,
    Policy,
    Scene,
    Sensor,
    Viewpoint,
    Waypoint,
    suggest_step,
)
from diffloom_video import VideoReader, get_video_reader, read_video

AnyTable = TypeVar("AnyTable", bound=Table)

DTYPES = {"float32": torch.float32, "float64": torch.float64}


def build_scene(loaded: Loaded) -> Scene:
    """Build the scene of a file, with the known values of [params].

    Args:
        loaded: Checked file.

    Returns:
        Scene with model, renderer, cameras, clock and appearance.

    Raises:
        InputError: A value does not fit the model; the message names the file and the key.
        MissingDataError: Data outside the project is not available.
    """
    try:
        return _scene(loaded)
    except MissingDataError:
        raise
    except InputError as error:
        raise InputError(f"{loaded.name}: {error}") from error


def build_renderer(loaded: Loaded, name: str) -> Renderer:
    """Build a renderer with the settings that the file gives for it.

    Args:
        loaded: Checked file.
        name: Registered name of the renderer.

    Returns:
        Renderer.
    """
    table = loaded.content.renderer
    for given in table.model_extra or {}:
        # Tables of renderers that are not installed are allowed; misspelt names are errors.
        if given not in renderers() and (close := suggest_name(given, renderers())):
            raise InputError(f"renderer.{given}: no renderer is called {given!r}{close}")
    settings = table.settings_of(name)
    made: Renderer = make(f"renderer.{name}", name, get_renderer(name), settings)
    return made


def _scene(loaded: Loaded) -> Scene:
    """Build the scene; errors do not name the file."""
    content = loaded.content
    dtype = DTYPES[content.precision]
    model = add_terms(build_bare_model(content, loaded.folder), content.terms, loaded.folder)
    values = {name: check_value(model, name, value, f"params.{name}") for name, value in content.params.items()}
    integrator, appearance, policy = content.time.integrator, content.appearance, content.policy
    params = model.params(dtype, **_sought(content, model, values), **values)
    dt = suggest_step(model, params) if content.time.dt == "auto" else content.time.dt
    steps = count_steps(content.time, dt)
    scene = Scene(
        model, build_renderer(loaded, content.renderer.name), _cameras(content, loaded.folder), params, dt, steps,
        None if integrator is None else _integrator(integrator),
        StoreAll() if content.time.gradient == "store_all" else Checkpointed(),
        tuple(_light(light) for light in content.lights), Appearance(**appearance.model_dump()),
        policy=None if policy is None else _policy(loaded, policy, model, params, dt * steps), device=content.device,
        windows=tuple(content.time.windows),
    )  # fmt: skip
    return choose_step(loaded, scene) if content.time.dt == "auto" else scene


def _policy(loaded: Loaded, table: PolicyTable, model: Model, params: Params, span: float) -> Policy:
    """Build the policy of a file, with stored weights if it names a file of them."""
    network = Network(**table.model_dump(exclude={"weights"}))
    made = make_network_policy(model, params, network, span, loaded.content.seed)
    if table.weights is None:
        return made
    from diffloom_control import load_policy

    return load_policy(loaded.folder / table.weights, made)


def _sought(content: ExperimentFile, model: Model, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the start values of optional parameters that are unknown and not in [params].

    A model takes alternative parameters: one that gets a Young's modulus needs no shear modulus, but a Poisson's ratio.
    """
    found = {}
    recorded = any(t is not None and t.video is not None for t in (content.target, *(v.target for v in content.views)))
    for spec in model.specs:
        table = content.unknowns.get(spec.name)
        if table is None or spec.default is not None or spec.name in values:
            continue
        given = table.start if not isinstance(table.start, Mapping) else content.truth.get(spec.name)
        # For a synthesised video the parameter comes from [truth], or is derived from other values there.
        if given is not None and not isinstance(given, Mapping) and (recorded or spec.name in content.truth):
            found[spec.name] = check_value(model, spec.name, given, f"unknowns.{spec.name}.start")
    return found


def _cameras(content: ExperimentFile, folder: Path) -> Cameras:
    """Return the camera of a file, or the cameras of its views by label."""
    table = content.target or TargetTable()
    if not content.views:
        bare, sensor = _camera(content.camera, table, folder), _sensor(content.camera)
        late = content.camera.time_offset
        return bare if sensor == Sensor() and late == 0.0 else Viewpoint(bare, late, sensor=sensor)
    labels = [view.label for view in content.views]
    twice = [label for label in labels if labels.count(label) > 1]
    if twice:
        raise InputError(f"views: {twice[0]!r} is the label of two views; give each its own")
    found = {}
    for view in content.views:
        camera, target = merge_tables(content.camera, view.camera), merge_tables(table, view.target)
        late = view.time_offset if "time_offset" in view.model_fields_set else camera.time_offset
        found[view.label] = Viewpoint(_camera(camera, target, folder), late, sensor=_sensor(camera))
    return found


def _sensor(table: CameraTable) -> Sensor:
    """Return the sensor properties of a camera table."""
    return Sensor(**{field.name: getattr(table, field.name) for field in fields(Sensor)})


def _size(table: CameraTable, target: TargetTable, folder: Path) -> tuple[int, int]:
    """Return height and width of the images [px], given or taken from the video's first frame."""
    if not isinstance(table.size, SizeTable):
        return table.size
    if target.video is None:
        raise InputError("camera.size: longest needs a video; give height and width, or target.video")
    first = read_video(
        data_path(folder, target.video), size=table.size.longest, duration=1e-3, rate=target.rate,
        reader=video_reader(target.reader), crop=target.crop, rotate=target.rotate,
    )  # fmt: skip
    assert first.size is not None
    return first.size


def video_reader(named: Named | None) -> VideoReader | None:
    """Return the video reader that a file names, or None."""
    if named is None:
        return None
    made: VideoReader = make_registered("target.reader", get_video_reader, named)
    return made


def merge_tables(base: AnyTable | None, own: AnyTable) -> AnyTable:
    """Return a view's table with its absent keys taken from the file's table."""
    return own if base is None else base.model_copy(update={name: getattr(own, name) for name in own.model_fields_set})


def _camera(table: CameraTable, target: TargetTable, folder: Path) -> CameraPlacement:
    """Return the placement of a camera: an orbit's keys stand in [camera] itself, those of other kinds in
    [camera.settings].
    """
    sensed = {"time_offset", *(field.name for field in fields(Sensor))}
    own = table.model_dump(exclude={"kind", "settings", "path", *sensed}) | {"size": _size(table, target, folder)}
    if table.kind == "orbit":
        if table.settings:
            raise InputError(
                "camera.settings: these belong to other kinds of camera; put an orbit's keys in [camera] itself"
            )
        return Orbit(**own, path=tuple(Waypoint(**point.model_dump()) for point in table.path))
    shared = {key: own[key] for key in ("size", "near", "far") if key in table.model_fields_set}
    for key in sorted(table.model_fields_set - {"kind", "settings", *shared, *sensed}):
        raise InputError(f"camera.{key}: this belongs to an orbit, and camera.kind is {table.kind!r}; leave it out")
    named = Named(name=table.kind, **shared, **table.settings)
    made: CameraPlacement = make_registered("camera", get_camera, named)
    return made


def _integrator(named: Named) -> Integrator:
    """Return the integrator that a file names."""
    made: Integrator = make("time.integrator", named.name, get_integrator(named.name), named.settings)
    return made


LIGHTS: Mapping[str, tuple[type[Any], tuple[str, ...]]] = {
    "ambient": (AmbientLight, ("colour",)),
    "point": (PointLight, ("position", "diffuse", "specular")),
    "directional": (DirectionalLight, ("direction", "diffuse", "specular")),
}


def _light(table: LightTable) -> Light:
    """Return the light of a table."""
    kind, allowed = LIGHTS[table.kind]
    given = {k: v for k, v in table.model_dump().items() if k != "kind" and v is not None}
    for key in given:
        if key not in allowed:
            raise InputError(f"lights: a light of kind {table.kind!r} has no {key!r}; it has {', '.join(allowed)}")
    light: Light = kind(**given)
    return light
