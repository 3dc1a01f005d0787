"""Toy plugins for the tests of the plugin system."""

from collections.abc import Callable
from types import ModuleType

import pytest

from diffloom.plugins import Register, hookimpl
from diffloom.plugins.entry import Origin
from diffloom.plugins.loader import Candidate


def offering(hook: str, *names: str, factory: object = "toy.module:Thing") -> ModuleType:
    """A plugin module that offers ``names`` through ``hook``."""
    module = ModuleType("toy_plugin")

    def implementation(register: Register) -> None:
        for name in names:
            register(name, factory, summary=f"The toy {name}")  # type: ignore[arg-type]

    setattr(module, hook, hookimpl(implementation))
    return module


@pytest.fixture
def toy() -> Callable[..., ModuleType]:
    return offering


@pytest.fixture
def candidate() -> Callable[..., Candidate]:
    """Make a candidate as the loader would find it; ``plugin`` is a module, or an exception that its import raises."""

    def make(plugin: object, name: str = "toy", distribution: str = "toy-dist", version: str = "1.2") -> Candidate:
        def load() -> object:
            if isinstance(plugin, BaseException):
                raise plugin
            return plugin

        return Candidate(Origin(name, distribution, version), load)

    return make
