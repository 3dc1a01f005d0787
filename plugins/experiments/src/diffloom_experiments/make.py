"""Things made by name: models, renderers, integrators, losses and optimisers, with their settings checked."""

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
    """``factory(**settings)``; a wrong setting is an InputError that lists the right ones."""
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
    """The registered thing that a file names, with the settings beside the name. get: such as ``get_loss``."""
    try:
        factory = get(named.name)
    except PluginError as error:
        raise InputError(f"{place}: {error}") from error
    return make(place, named.name, factory, named.settings)


def resolve_paths(value: Any, folder: Path, key: str = "") -> Any:
    """Model settings with file names that are relative to ``folder`` made absolute where such a file exists."""
    if isinstance(value, Mapping):
        return {k: resolve_paths(v, folder, k) for k, v in value.items()}
    if isinstance(value, list):
        return [resolve_paths(v, folder, key) for v in value]
    if isinstance(value, str) and key in FILE_KEYS and (folder / value).is_file():
        return str((folder / value).resolve())
    return value


def _tuples(value: Any) -> Any:
    """Lists of numbers as tuples: frozen dataclasses want values that can be hashed."""
    if isinstance(value, list) and all(isinstance(v, (int, float)) for v in value):
        return tuple(value)
    return value


def check_value(model: Model, name: str, value: Any, place: str) -> Any:
    """A parameter's value with its unit checked."""
    return quantity(value, unit_of(model.specs, name), place)


def unit_of(specs: tuple[ParamSpec, ...], name: str) -> str:
    """The unit of a parameter; none for names the model does not know, which it will refuse itself."""
    return next((spec.unit for spec in specs if name in (spec.name, *(f"{spec.name}.{axis}" for axis in "xyz"))), "")
