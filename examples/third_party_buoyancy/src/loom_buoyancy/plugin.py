"""Registrations of loom-buoyancy: import paths only, so that listing plugins imports nothing heavy."""

from diffloom.plugins import Register, hookimpl

DIFFLOOM_PLUGIN_API = 3


@hookimpl
def diffloom_register_models(register: Register) -> None:
    """Offer the model "buoys"."""
    register("buoys", "loom_buoyancy.model:BuoysModel", summary="Buoys on a rope that float on waves")


@hookimpl
def diffloom_register_terms(register: Register) -> None:
    """Offer the term "buoyancy"."""
    register("buoyancy", "loom_buoyancy.term:Buoyancy", summary="Lift and drag of balls in wavy water")
