"""What diffloom-physics-springs offers diffloom. Names only: nothing heavy is imported until it is asked for."""

from diffloom.plugins import Register, hookimpl

DIFFLOOM_PLUGIN_API = 3


@hookimpl
def diffloom_register_models(register: Register) -> None:
    """Offer the model "springs"."""
    register("springs", "diffloom_physics_springs.model:SpringsModel", summary="Particles joined by damped springs")
