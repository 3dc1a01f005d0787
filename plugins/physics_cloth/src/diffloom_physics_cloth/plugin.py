"""What diffloom-physics-cloth offers diffloom. Names only: nothing heavy is imported until it is asked for."""

from diffloom.plugins import Register, hookimpl

DIFFLOOM_PLUGIN_API = 3


@hookimpl
def diffloom_register_models(register: Register) -> None:
    """Offer the model "cloth"."""
    register(
        "cloth",
        "diffloom_physics_cloth.model:ClothModel",
        summary="Thin shells: stretching, shearing and bending triangles",
    )
