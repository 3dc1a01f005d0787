"""Registry of the process: loaded on first use, and replaceable in tests."""

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
    """Return the registry of installed plugins, also if strict mode would refuse it.

    Returns:
        Registry.
    """
    if _replacements:
        return _replacements[-1]
    return _load(replace(Selection.from_environment(), strict=False))


def current_registry() -> Registry:
    """Return the registry in force.

    Returns:
        Registry.

    Raises:
        BrokenPluginsError: ``DIFFLOOM_STRICT_PLUGINS`` is set and a plugin is broken.
    """
    registry = installed_registry()
    if Selection.from_environment().strict:
        registry.raise_if_faulty()
    return registry


@contextmanager
def use_registry(registry: Registry) -> Iterator[Registry]:
    """Context manager: put ``registry`` in force for the whole process.

    Args:
        registry: Registry to use.

    Returns:
        Context manager that yields the registry.
    """
    _replacements.append(registry)
    try:
        yield registry
    finally:
        _replacements.remove(registry)


def models() -> tuple[str, ...]:
    """Return the names of the installed models.

    Returns:
        Names, sorted.
    """
    return current_registry().models()


def integrators() -> tuple[str, ...]:
    """Return the names of the installed integrators.

    Returns:
        Names, sorted.
    """
    return current_registry().integrators()


def renderers() -> tuple[str, ...]:
    """Return the names of the installed renderers.

    Returns:
        Names, sorted.
    """
    return current_registry().renderers()


def get_model(name: str) -> "Callable[..., Model]":
    """Return the model class (or factory) of this name.

    ball = get_model("fem")("ball", radius=0.3)

    Args:
        name: Registered name, such as "fem".

    Returns:
        Class or function that makes a model.

    Raises:
        UnknownNameError: The model does not exist; the message says what to install, or lists the installed ones.
    """
    return current_registry().get_model(name)


def get_integrator(name: str) -> "Callable[..., Integrator]":
    """Return the integrator class (or factory) of this name.

    Args:
        name: Registered name, such as "semi_implicit".

    Returns:
        Class or function that makes an integrator.

    Raises:
        UnknownNameError: The integrator does not exist; the message says what to install, or lists the installed ones.
    """
    return current_registry().get_integrator(name)


def get_renderer(name: str) -> "Callable[..., Renderer]":
    """Return the renderer class (or factory) of this name.

    Args:
        name: Registered name, such as "softras".

    Returns:
        Class or function that makes a renderer.

    Raises:
        UnknownNameError: The renderer does not exist; the message says what to install, or lists the installed ones.
    """
    return current_registry().get_renderer(name)


@cache
def _load(selection: Selection) -> Registry:
    """Return the registry for these switches, memoised."""
    return load_plugins(selection)
