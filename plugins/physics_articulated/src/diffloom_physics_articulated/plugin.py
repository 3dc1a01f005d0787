"""What diffloom-physics-articulated offers. Names only: nothing heavy is imported until it is asked for."""

from diffloom.plugins import Register, hookimpl

DIFFLOOM_PLUGIN_API = 3


@hookimpl
def diffloom_register_models(register: Register) -> None:
    """Offer the model "articulated"."""
    register(
        "articulated",
        "diffloom_physics_articulated.model:ArticulatedModel",
        summary="Trees of links with joints and motors: pendulums, chains, robots",
    )
