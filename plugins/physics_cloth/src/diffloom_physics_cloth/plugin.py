"""Registrations of diffloom-physics-cloth, as import paths, so that listing plugins imports nothing heavy."""

from diffloom.plugins import Register, hookimpl

DIFFLOOM_PLUGIN_API = 3


@hookimpl
def diffloom_register_models(register: Register) -> None:
    """Register the model "cloth"."""
    register(
        "cloth",
        "diffloom_physics_cloth.model:ClothModel",
        summary="Thin shells: stretching, shearing and bending triangles",
    )
