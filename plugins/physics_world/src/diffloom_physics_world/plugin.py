"""What diffloom-physics-world offers diffloom. Names only: nothing heavy is imported until it is asked for."""

from diffloom.plugins import Register, hookimpl

DIFFLOOM_PLUGIN_API = 3


@hookimpl
def diffloom_register_models(register: Register) -> None:
    """Offer the model "world"."""
    register("world", "diffloom_physics_world.model:World", summary="Several bodies of any models, touching each other")
