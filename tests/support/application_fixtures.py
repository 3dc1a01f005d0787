"""Fixtures for the tests of fitting and of the plugins that stand on it. Toys stand in for physics and rendering, so
that the machinery is tested in milliseconds."""

import pytest

from diffloom.plugins import Registry, core_registry, use_registry


def application_registry() -> Registry:
    """Return a registry with the toys and the application's own plugins, without physics and renderers."""
    import fitting_toys

    import diffloom_experiments.plugin
    import diffloom_fitting.plugin
    import diffloom_mechanics.plugin
    import diffloom_motion.plugin
    import diffloom_scale.plugin
    import diffloom_studio.plugin
    import diffloom_testing.plugin
    import diffloom_video.plugin

    registry = core_registry()
    registry.install(diffloom_mechanics.plugin, "mechanics")
    registry.install(diffloom_testing.plugin, "testing")
    registry.install(diffloom_fitting.plugin, "fitting")
    registry.install(diffloom_video.plugin, "video")
    registry.install(diffloom_experiments.plugin, "experiments")
    registry.install(diffloom_motion.plugin, "motion")
    registry.install(diffloom_scale.plugin, "scale")
    registry.install(diffloom_studio.plugin, "studio")
    registry.install(fitting_toys.ToyPlugin(), "toys")
    return registry


@pytest.fixture
def toy_registry():
    """A registry with the toys and the application's own plugins, in force for one test."""
    with use_registry(application_registry()) as registry:
        yield registry


@pytest.fixture
def cluster():
    """The address of a Ray cluster of two nodes on this machine."""
    from ray_nodes import two_nodes

    with two_nodes() as address:
        yield address
