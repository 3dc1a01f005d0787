"""Toys stand in for physics and rendering, so that the machinery of fitting is tested in milliseconds."""

import sys
from pathlib import Path

import pytest
import torch

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[3] / "tools"))

from diffloom.plugins import Registry, use_registry


@pytest.fixture(autouse=True)
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def toy_registry():
    """A registry with the toys and what diffloom-fitting itself offers."""
    import fitting_toys

    from diffloom.plugins import core_plugin
    from diffloom_fitting import plugin

    registry = Registry()
    registry.install(core_plugin, "core")
    registry.install(plugin, "fitting")
    registry.install(fitting_toys.ToyPlugin(), "toys")
    with use_registry(registry):
        yield registry


@pytest.fixture
def cluster():
    """The address of a Ray cluster of two nodes on this machine."""
    from ray_nodes import two_nodes

    with two_nodes() as address:
        yield address
