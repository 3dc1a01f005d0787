"""Registrations of diffloom-physics-articulated, as import paths, so that listing plugins imports nothing heavy."""

from diffloom.plugins import Register, hookimpl

DIFFLOOM_PLUGIN_API = 3


@hookimpl
def diffloom_register_models(register: Register) -> None:
    """Register the model "articulated"."""
    register(
        "articulated",
        "diffloom_physics_articulated.model:ArticulatedModel",
        summary="Trees of links with joints and motors: pendulums, chains, robots",
    )
