"""Checks and conversions of a scene's fields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from diffloom.interfaces import InputError, Integrator, Light, Model, Params, ParamSpec, Renderer
from diffloom.plugins import get_renderer
from diffloom_fitting.scene.appearance import Appearance
from diffloom_fitting.scene.device import check_device
from diffloom_fitting.scene.placement import CameraPlacement
from diffloom_fitting.scene.values import as_control, as_model_values, as_policy, make_model
from diffloom_fitting.scene.viewpoint import camera_prefix, viewpoints_of
from diffloom_fitting.scene.windows import check_windows, find_window, strip_window
from diffloom_fitting.validation import (
    check_images,
    check_instance,
    check_names,
    check_real,
    check_whole,
    describe_value,
)

if TYPE_CHECKING:
    from diffloom_fitting.scene.scene import Scene

#: Longest step [s] of dt = "auto": a fall by steps of the first order errs by a velocity of g dt / 2, 1 cm/s.
LONGEST_STEP = 1.0 / 480.0
#: Prefixes of unknowns that are not parameters of a model.
RESERVED = ("appearance", "camera", "control", "policy")


def check_fields(scene: Scene) -> dict[str, Any]:
    """Return the converted fields of a scene, or raise InputError."""
    given = make_model(scene.model)
    if isinstance(given, Sequence):
        raise InputError(
            f"scene.model: got a list of {len(given)}; expected one model: several bodies are one model of "
            'several, such as get_model("rigid")([{"shape": "box"}, {"shape": "sphere"}])'
        )
    model = check_instance("scene.model", given, Model)  # type: ignore[type-abstract]
    _check_names(model)
    renderer = check_instance("scene.renderer", scene.renderer, Renderer, get_renderer)  # type: ignore[type-abstract]
    params = _params(model, scene.params)
    found: dict[str, Any] = {
        "model": model,
        "renderer": renderer,
        "params": params,
        "dt": _step(model, params, scene.dt),
        "steps": check_whole("scene.steps", scene.steps, 1, 2**31 - 1),
        "lights": _lights(scene.lights),
        "appearance": check_instance("scene.appearance", scene.appearance, Appearance),
        "control": as_control(scene.control, params.dtype),
        "policy": None if scene.policy is None else as_policy(scene.policy, model),
        "device": check_device(str(scene.device)),
    }
    if len(scene.windows):
        if scene.policy is not None:
            raise InputError(
                "scene.windows: got a policy too, which drives one motion from its start; give a policy or windows"
            )
        found["windows"] = check_windows(scene.windows, found["steps"] * found["dt"])
    if scene.background is not None:
        found["background"] = _background(scene, renderer, params.dtype)
    if scene.integrator is not None and not isinstance(scene.integrator, str):
        check_instance("scene.integrator", scene.integrator, Integrator)  # type: ignore[type-abstract]
    return found


def _check_names(model: Model) -> None:
    """Raise if a parameter's name begins with a reserved prefix."""
    for spec in model.specs:
        first = spec.name.partition(".")[0]
        if first in RESERVED:
            raise InputError(
                f"scene.model: the prefix {first!r} in {spec.name!r} is reserved for the scene; choose another"
            )


def list_seekable(scene: Scene) -> list[str]:
    """List the names that can be unknowns of a scene.

    Args:
        scene: The scene.

    Returns:
        Names of parameters, camera, appearance, controls and policy.
    """
    own = [spec.name for spec in scene.model.specs if spec.differentiable]
    camera = list(list_camera_specs(scene))
    control = [f"control.{spec.name}" for spec in scene.model.specs if spec.per_step]
    return (
        own
        + camera
        + ["appearance.colour", "appearance.size"]
        + control
        + (["policy"] if scene.policy is not None else [])
    )


def list_camera_specs(scene: Scene) -> dict[str, ParamSpec]:
    """List the quantities of the cameras that can be unknowns, by full name; of fixed cameras, only those of the
    sensor.
    """
    found: dict[str, ParamSpec] = {}
    for label, view in scene.viewpoints.items():
        own = view.camera.specs if isinstance(view.camera, CameraPlacement) else ()
        late = ParamSpec(
            "time_offset", view.time_offset, "s", "time t of the video is t + time_offset of the simulation"
        )
        found |= {camera_prefix(label) + spec.name: spec for spec in (*own, *view.sensor.specs, late)}
    return found


def check_known(scene: Scene, values: Mapping[str, object], what: str) -> None:
    """Raise if ``values`` name something that the scene does not have."""
    own = [spec.name for spec in scene.model.specs]
    given = [name if find_window(name, scene.windows) is None else strip_window(name) for name in values]
    check_names(what, given, list(dict.fromkeys([*own, *list_seekable(scene)])))


def _background(scene: Scene, renderer: Renderer, dtype: torch.dtype) -> Tensor:
    image = check_images("scene.background", scene.background, (1, 3))[0].to(dtype)
    if renderer.owns_background:
        raise InputError(
            "scene.background: the renderer draws a ground of its own, which covers the image; leave out one of them"
        )
    for viewpoint in viewpoints_of(scene.camera).values():
        if image.dim() == 3 and tuple(image.shape[:2]) != viewpoint.size:
            raise InputError(
                f"scene.background: got {image.shape[1]}x{image.shape[0]} pixels; the camera has "
                f"{viewpoint.size[1]}x{viewpoint.size[0]}: resize one of them"
            )
    return image


def _params(model: Model, given: object) -> Params:
    if isinstance(given, Params):
        check_names("scene.params", list(given), [spec.name for spec in model.specs])
        return given
    if isinstance(given, Mapping) or (hasattr(given, "keys") and hasattr(given, "items")):
        return as_model_values(model, given, torch.float32, '{"density": 2.0}')
    raise InputError(f"scene.params: got {describe_value(given)}; expected model.params(...), or values by name")


def _step(model: Model, params: Params, dt: object) -> float:
    if dt != "auto":
        return check_real("scene.dt [s]", dt, above=0.0)
    return suggest_step(model, params)


def suggest_step(model: Model, params: Params) -> float:
    """Return the time step that a model suggests.

    Args:
        model: The model.
        params: Its parameters.

    Returns:
        The step [s], at most LONGEST_STEP.

    Raises:
        InputError: The model suggests none.
    """
    suggest = getattr(model, "suggested_dt", None)
    if suggest is None:
        raise InputError(f'dt = "auto": {type(model).__name__} suggests no time step; give one in seconds')
    return min(float(suggest(params)), LONGEST_STEP)


def _lights(given: object) -> tuple[Light, ...]:
    if isinstance(given, Light):
        return (given,)
    if not isinstance(given, Sequence) or not all(isinstance(light, Light) for light in given):
        raise InputError(f"scene.lights: got {describe_value(given)}; expected lights, such as (AmbientLight(0.5),)")
    return tuple(given)
