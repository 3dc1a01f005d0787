"""Conversion of what callers write (numbers, lists, arrays, names) to models, values, times and controls of a scene."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from diffloom.interfaces import Control, InputError, Model, Params, ParamSpec
from diffloom.plugins import get_model
from diffloom_fitting.scene.policy import Policy, Sinusoids
from diffloom_fitting.scene.windows import find_window, strip_window
from diffloom_fitting.validation import as_number_tensor, check_mapping, describe_value

if TYPE_CHECKING:
    from diffloom_fitting.scene.scene import Scene

FLOATS = (torch.float32, torch.float64)


def make_model(given: object) -> object:
    """Return the model of a name or of a table with a name and settings; anything else is returned unchanged.

    Args:
        given: "fem", {"name": "fem", "mesh": "ball"}, ("fem", {"mesh": "ball"}) or a model.

    Returns:
        The model, or ``given``.

    Raises:
        InputError: The settings do not fit the model.
    """
    settings: dict[str, Any] = {}
    if isinstance(given, Mapping):
        settings = check_mapping("scene.model", given, '{"name": "fem", "mesh": "ball"}')
        given = settings.pop("name", None)
        if not isinstance(given, str):
            raise InputError('scene.model: got a table without the model\'s "name", such as {"name": "fem"}')
    elif isinstance(given, tuple) and len(given) == 2 and isinstance(given[0], str) and isinstance(given[1], Mapping):
        given, settings = given[0], check_mapping("scene.model", given[1], '{"mesh": "ball"}')
    if not isinstance(given, str):
        return given
    make = get_model(given)
    try:
        return make(**settings)
    except TypeError as error:
        told = str(error).partition("() ")[2] or str(error)
        raise InputError(
            f'scene.model: {given!r} {told}; give its settings, as in {{"name": {given!r}, ...}} or '
            f"get_model({given!r})(...)"
        ) from error


def as_model_values(model: Model, given: object, dtype: torch.dtype, example: str) -> Params:
    """Return the parameters of a model from numbers, texts with units, lists, arrays or tensors of any precision.

    Args:
        model: The model.
        given: Values by name.
        dtype: Precision of the parameters.
        example: Example of a mapping, for errors.

    Returns:
        The parameters, with defaults for the rest.
    """
    values = check_mapping("scene.params", given, example)
    specs = {spec.name: spec for spec in model.specs}
    return model.params(dtype, **{k: _prepare(specs.get(k), f"scene.params.{k}", v, dtype) for k, v in values.items()})


def as_scene_values(scene: Scene, values: object, what: str) -> dict[str, Tensor]:
    """Return values by name as tensors of the scene's precision.

    Tensors of this precision are returned unchanged and unchecked, because fits give them in each evaluation.

    Args:
        scene: The scene.
        values: Numbers, texts with units, lists, arrays or tensors by name; None for none.
        what: Name of the values in errors.

    Returns:
        Tensors by name.

    Raises:
        InputError: A name is unknown, or a value does not fit its parameter.
    """
    if values is None:
        return {}
    dtype = scene.dtype
    if isinstance(values, Mapping) and all(isinstance(v, Tensor) and v.dtype == dtype for v in values.values()):
        return dict(values)
    given = check_mapping(what, values, '{"density": 2.0}')
    weights = set() if scene.policy is None else set(scene.policy.weights(dtype))
    scene.check_known({name: value for name, value in given.items() if name not in weights}, what)
    specs = {spec.name: spec for spec in scene.model.specs}
    found = {}
    for name, value in given.items():
        spec = specs.get(name if find_window(name, scene.windows) is None else strip_window(name))
        tensor = _prepare(spec, f"{what}: {name}", value, dtype)
        made = tensor if isinstance(tensor, Tensor) else as_number_tensor(f"{what}: {name}", tensor, dtype)
        found[name] = made if spec is None else spec.check(made, scene.model.axes, dtype)
    return found


def _prepare(spec: ParamSpec | None, what: str, value: object, dtype: torch.dtype) -> object:
    """Convert texts with units, arrays, iterables and tensors of another type; leave the rest to the model's checks."""
    from diffloom_fitting.quantities import quantity

    if isinstance(value, str):
        return quantity(value, "" if spec is None else spec.unit, what)
    if value is None or isinstance(value, bool | int | float):
        return value
    return as_number_tensor(what, value, dtype)


def as_times(times: object, what: str, span: float, dt: float) -> Tensor:
    """Return frame times as a tensor.

    Args:
        times: Times [s] as a list, range, array, tensor or generator; one number for one frame; None for every step.
        what: Name of the times in errors.
        span: Length of the simulation [s].
        dt: Time step [s].

    Returns:
        (frames,), in double unless a tensor of floats was given.
    """
    if isinstance(times, Tensor):
        made = times if times.dtype in FLOATS else times.to(torch.float64)
    elif times is None:
        made = torch.arange(round(span / dt) + 1, dtype=torch.float64) * dt
    else:
        made = as_number_tensor(what, times, torch.float64)
    return made[None] if made.dim() == 0 else made


def as_policy(given: object, model: Model) -> Policy:
    """Return a policy from a module.

    Args:
        given: A policy; {"control": module} for the module that drives a control; or a module, if the model has one
            control.
        model: The model.

    Returns:
        The policy.

    Raises:
        InputError: It is not clear which control the module drives.
    """
    if isinstance(given, Policy):
        return given
    controls = [spec.name for spec in model.specs if spec.per_step]
    if isinstance(given, Mapping) and len(given) == 1:
        ((name, module),) = given.items()
        if isinstance(name, str) and isinstance(module, nn.Module):
            return Policy(name, module, find_features(module))
    if isinstance(given, nn.Module) and len(controls) == 1:
        return Policy(controls[0], given, find_features(given))
    told = f"a {type(given).__name__}" if isinstance(given, nn.Module) else describe_value(given)
    raise InputError(
        f"scene.policy: got {told}; expected a Policy, or a torch.nn.Module by the name of the control that it drives, "
        f"such as {{{controls[0] if controls else 'control'!r}: module}}; this model's controls are: "
        f"{', '.join(controls) or 'none'}"
    )


def find_features(module: nn.Module) -> Callable[[Tensor], Tensor]:
    """Return features of the time for the inputs of a module's first linear layer.

    Args:
        module: The module.

    Returns:
        The time [s] itself for one input, else as many ``Sinusoids``; the default ones without a linear layer.
    """
    first = next((layer for layer in module.modules() if isinstance(layer, nn.Linear)), None)
    if first is None:
        return Sinusoids()
    return make_time_column if first.in_features == 1 else Sinusoids(first.in_features)


def make_time_column(times: Tensor) -> Tensor:
    """Return times (steps,) [s] as features (steps, 1).

    Args:
        times: (steps,), times [s].

    Returns:
        The features.
    """
    return times[:, None]


def as_control(given: object, dtype: torch.dtype) -> Control:
    """Return a control from rows by name.

    Args:
        given: A control, or numbers (steps, ...) by name.
        dtype: Precision of the rows.

    Returns:
        The control.
    """
    if isinstance(given, Control):
        return given
    rows = check_mapping("scene.control", given, '{"force": rows}')
    return Control({name: as_number_tensor(f"scene.control.{name}", value, dtype) for name, value in rows.items()})
