"""Registrations of diffloom-physics-world, as import paths, so that listing plugins imports nothing heavy."""

from diffloom.plugins import Register, hookimpl

DIFFLOOM_PLUGIN_API = 3


@hookimpl
def diffloom_register_models(register: Register) -> None:
    """Register the model "world"."""
    register("world", "diffloom_physics_world.model:World", summary="Several bodies of any models, touching each other")
