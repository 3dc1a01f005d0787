"""Registrations of loom-sphere: import paths only, so that listing plugins imports nothing heavy."""

from diffloom.plugins import Register, hookimpl

DIFFLOOM_PLUGIN_API = 3


@hookimpl
def diffloom_register_terms(register: Register) -> None:
    """Offer the term "ball"."""
    register("ball", "loom_sphere.ball:Ball", summary="A ball that particles and rigid bodies fall on")
