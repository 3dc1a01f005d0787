"""Fixtures for tests of plugins, which pytest finds wherever diffloom-testing is installed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

try:
    import pytest
except ModuleNotFoundError as missing:
    raise ModuleNotFoundError("this is a plugin of pytest, which is not installed: pip install pytest") from missing

# Import nothing of diffloom here, because every run of pytest in the environment imports this module.
if TYPE_CHECKING:
    from diffloom.interfaces import Camera, Model, Surface
    from diffloom.plugins import Registry


@pytest.fixture
def hermetic_registry() -> Iterator[Registry]:
    """Registry of core, diffloom-mechanics and diffloom-testing alone, active during one test.

    ``hermetic_registry.install(plugin_module, "name")`` adds a plugin to it.
    """
    from diffloom.plugins import core_registry, use_registry

    with use_registry(core_registry("mechanics", "testing")) as registry:
        yield registry


@pytest.fixture
def toy_model() -> Model:
    """Model of three masses on springs that hangs, moves and has a surface, for tests of renderers and losses."""
    from diffloom_testing.systems import ToyChain

    return ToyChain()


@pytest.fixture
def toy_surface() -> Callable[..., Surface]:
    """Function ``toy_surface(frames=1, dtype=torch.float64)``: a small coloured body that grows and drifts."""
    from diffloom_testing.scenes import gem

    return gem


@pytest.fixture
def toy_camera() -> Callable[..., Camera]:
    """Function ``toy_camera(dtype=torch.float64, size=(20, 26))``: a camera with all of ``toy_surface`` in view."""
    from diffloom_testing.scenes import camera

    return camera


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Write the counts of checks for each subject, and skipped families with their reasons."""
    suite = sys.modules.get("diffloom_testing.parametrize")
    lines = suite.summarise_run() if suite is not None else []
    if lines:
        terminalreporter.section("diffloom checks")
        for line in lines:
            terminalreporter.write_line(line)
