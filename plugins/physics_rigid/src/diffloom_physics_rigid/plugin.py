"""What diffloom-physics-rigid offers diffloom. Names only: nothing heavy is imported until it is asked for."""

from diffloom.plugins import Register, hookimpl

DIFFLOOM_PLUGIN_API = 3


@hookimpl
def diffloom_register_models(register: Register) -> None:
    """Offer the model "rigid"."""
    register("rigid", "diffloom_physics_rigid.model:RigidModel", summary="Rigid bodies with contact and friction")
