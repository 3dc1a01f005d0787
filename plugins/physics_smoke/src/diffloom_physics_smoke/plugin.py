"""Registrations of diffloom-physics-smoke, as import paths, so that torch and numba are imported on first use."""

from diffloom.plugins import Register, hookimpl

DIFFLOOM_PLUGIN_API = 3


@hookimpl
def diffloom_register_models(register: Register) -> None:
    """Register the model "smoke"."""
    register("smoke", "diffloom_physics_smoke.model:SmokeModel", summary="Smoke in an incompressible flow, in 2D")
