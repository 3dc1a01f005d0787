"""The process's own registry: loaded on first use, and replaceable in tests."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

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


def terms() -> tuple[str, ...]:
    """Names of the installed force terms."""
    return current_registry().terms()


def contact_laws() -> tuple[str, ...]:
    """Names of the installed contact laws."""
    return current_registry().contact_laws()


def losses() -> tuple[str, ...]:
    """Names of the installed losses."""
    return current_registry().losses()


def optimisers() -> tuple[str, ...]:
    """Names of the installed optimisers."""
    return current_registry().optimisers()


def video_readers() -> tuple[str, ...]:
    """Names of the installed video readers."""
    return current_registry().video_readers()


def cameras() -> tuple[str, ...]:
    """Names of the installed kinds of camera."""
    return current_registry().cameras()


def segmenters() -> tuple[str, ...]:
    """Names of the installed segmenters."""
    return current_registry().segmenters()


def loggers() -> tuple[str, ...]:
    """Names of the installed loggers."""
    return current_registry().loggers()


def get_model(name: str) -> "Callable[..., Model]":
    """The model class (or factory) of this name."""
    return current_registry().get_model(name)


def get_integrator(name: str) -> "Callable[..., Integrator]":
    """The integrator class (or factory) of this name."""
    return current_registry().get_integrator(name)


def get_renderer(name: str) -> "Callable[..., Renderer]":
    """The renderer class (or factory) of this name."""
    return current_registry().get_renderer(name)


def get_term(name: str) -> Any:
    """The force term of this name."""
    return current_registry().get_term(name)


def get_contact_law(name: str) -> Any:
    """The contact law of this name."""
    return current_registry().get_contact_law(name)


def get_loss(name: str) -> Any:
    """The loss of this name."""
    return current_registry().get_loss(name)


def get_optimiser(name: str) -> Any:
    """The optimiser of this name."""
    return current_registry().get_optimiser(name)


def get_video_reader(name: str) -> Any:
    """The video reader of this name."""
    return current_registry().get_video_reader(name)


def get_camera(name: str) -> Any:
    """The kind of camera of this name."""
    return current_registry().get_camera(name)


def get_segmenter(name: str) -> Any:
    """The segmenter of this name."""
    return current_registry().get_segmenter(name)


def get_logger(name: str) -> Any:
    """The logger of this name."""
    return current_registry().get_logger(name)


@cache
def _load(selection: Selection) -> Registry:
    # Keyed by the switches: a command that sets one gets the registry it asked for.
    return load_plugins(selection)
