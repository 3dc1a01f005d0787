"""What diffloom-physics-smoke offers diffloom. Names only: nothing heavy is imported until it is asked for."""

from diffloom.plugins import Register, hookimpl

DIFFLOOM_PLUGIN_API = 3


@hookimpl
def diffloom_register_models(register: Register) -> None:
    """Offer the model "smoke"."""
    register("smoke", "diffloom_physics_smoke.model:SmokeModel", summary="Smoke in an incompressible flow, in 2D")
