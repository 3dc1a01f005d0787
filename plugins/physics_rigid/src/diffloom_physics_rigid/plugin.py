"""Registrations of diffloom-physics-rigid, as import paths, so that listing plugins imports nothing heavy."""

from diffloom.plugins import Register, hookimpl

DIFFLOOM_PLUGIN_API = 3


@hookimpl
def diffloom_register_models(register: Register) -> None:
    """Register the model "rigid"."""
    register("rigid", "diffloom_physics_rigid.model:RigidModel", summary="Rigid bodies with contact and friction")
