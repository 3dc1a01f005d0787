"""Construction of registered things by name, with their settings checked: models, renderers, losses, optimisers."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from diffloom.interfaces import InputError, Model, ParamSpec
from diffloom.plugins import PluginError
from diffloom.validation import check_arguments, suggest_name
from diffloom_experiments.values import Named
from diffloom_fitting import quantity

__all__ = ["check_value", "make", "make_registered", "resolve_paths"]

FILE_KEYS = ("mesh", "file", "texture")


def make(place: str, name: str, factory: Callable[..., Any], settings: Mapping[str, Any]) -> Any:
    """Return ``factory(**settings)``.

    Args:
        place: Dotted key of the table, for messages.
        name: Registered name, for messages.
        factory: Class or function.
        settings: Arguments by name; lists of numbers become tuples.

    Returns:
        Result of the factory.

    Raises:
        InputError: A setting is unknown, missing or of the wrong type.
    """
    try:
        known = inspect.signature(factory).parameters
    except (TypeError, ValueError):
        known = {}  # type: ignore[assignment]
    anything = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in known.values())
    named = [p.name for p in known.values() if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD)]
    for key in settings:
        if not anything and key not in named:
            raise InputError(
                f"{place}.{key}: {name!r} has no such setting{suggest_name(key, named) or '.'} It has: "
                f"{', '.join(named) or 'none'}"
            )
    missing = [n for n in named if known[n].default is inspect.Parameter.empty and n not in settings]
    if missing:
        raise InputError(f"{place}: {name!r} needs {', '.join(missing)}; give it beside the name")
    check_arguments(place, factory, settings)
    try:
        return factory(**{key: _tuples(value) for key, value in settings.items()})
    except InputError as error:
        raise InputError(f"{place}: {error}") from error


def make_registered(place: str, get: Callable[[str], Callable[..., Any]], named: Named) -> Any:
    """Return the registered thing that a file names, made with its settings.

    Args:
        place: Dotted key of the table, for messages.
        get: Function that returns a factory by name, such as ``get_loss``.
        named: Name and settings.

    Returns:
        Result of the factory.

    Raises:
        InputError: The name does not exist, or a setting is wrong.
    """
    try:
        factory = get(named.name)
    except PluginError as error:
        raise InputError(f"{place}: {error}") from error
    return make(place, named.name, factory, named.settings)


def resolve_paths(value: Any, folder: Path, key: str = "") -> Any:
    """Return settings with file names relative to ``folder`` as absolute paths.

    Args:
        value: Settings, or a value among them.
        folder: Folder of the experiment file.
        key: Key of ``value``; "mesh", "file" and "texture" hold file names.

    Returns:
        Settings; names of files that do not exist are unchanged.
    """
    if isinstance(value, Mapping):
        return {k: resolve_paths(v, folder, k) for k, v in value.items()}
    if isinstance(value, list):
        return [resolve_paths(v, folder, key) for v in value]
    if isinstance(value, str) and key in FILE_KEYS and (folder / value).is_file():
        return str((folder / value).resolve())
    return value


def _tuples(value: Any) -> Any:
    """Return a list of numbers as a tuple, because frozen dataclasses need hashable values."""
    if isinstance(value, list) and all(isinstance(v, (int, float)) for v in value):
        return tuple(value)
    return value


def check_value(model: Model, name: str, value: Any, place: str) -> Any:
    """Return the value of a parameter after checking its unit, such as 2.5 for "2.5 kg".

    Args:
        model: Model that has the parameter.
        name: Name of the parameter.
        value: Number, list, or text with a unit.
        place: Dotted key, for messages.

    Returns:
        Value without unit.

    Raises:
        InputError: The unit is not the parameter's.
    """
    return quantity(value, unit_of(model.specs, name), place)


def unit_of(specs: tuple[ParamSpec, ...], name: str) -> str:
    """Return the unit of a parameter; "" for a name that the model does not know, which it refuses later."""
    return next((spec.unit for spec in specs if name in (spec.name, *(f"{spec.name}.{axis}" for axis in "xyz"))), "")
