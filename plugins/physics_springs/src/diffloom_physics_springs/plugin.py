"""Registrations of diffloom-physics-springs, as import paths, so that torch and numba are imported on first use."""

from diffloom.plugins import Register, hookimpl

DIFFLOOM_PLUGIN_API = 3


@hookimpl
def diffloom_register_models(register: Register) -> None:
    """Register the model "springs"."""
    register("springs", "diffloom_physics_springs.model:SpringsModel", summary="Particles joined by damped springs")
