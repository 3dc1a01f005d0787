"""The process's own registry: loaded on first use, and replaceable in tests."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from diffloom.plugins.loader import load_plugins
from diffloom.plugins.registry import Registry
from diffloom.plugins.selection import Selection

if TYPE_CHECKING:
    from diffloom.interfaces import Integrator, Model, Renderer

_replacements: list[Registry] = []


def installed_registry() -> Registry:
    """What is installed, sound or not: the registry, even where strict mode would refuse it."""
    if _replacements:
        return _replacements[-1]
    return _load(replace(Selection.from_environment(), strict=False))


def current_registry() -> Registry:
    """The registry in force. Raises BrokenPluginsError when ``DIFFLOOM_STRICT_PLUGINS`` is set and a plugin broken."""
    registry = installed_registry()
    if Selection.from_environment().strict:
        registry.raise_if_faulty()
    return registry


@contextmanager
def use_registry(registry: Registry) -> Iterator[Registry]:
    """Put ``registry`` in force for the whole process while the block runs."""
    _replacements.append(registry)
    try:
        yield registry
    finally:
        _replacements.remove(registry)


def models() -> tuple[str, ...]:
    """Names of the installed models."""
    return current_registry().models()


def integrators() -> tuple[str, ...]:
    """Names of the installed integrators."""
    return current_registry().integrators()


def renderers() -> tuple[str, ...]:
    """Names of the installed renderers."""
    return current_registry().renderers()


def get_model(name: str) -> "Callable[..., Model]":
    """The model class (or factory) of this name."""
    return current_registry().get_model(name)


def get_integrator(name: str) -> "Callable[..., Integrator]":
    """The integrator class (or factory) of this name."""
    return current_registry().get_integrator(name)


def get_renderer(name: str) -> "Callable[..., Renderer]":
    """The renderer class (or factory) of this name."""
    return current_registry().get_renderer(name)


@cache
def _load(selection: Selection) -> Registry:
    # Keyed by the switches: a command that sets one gets the registry it asked for.
    return load_plugins(selection)
