"""Registrations of loom-magnets: import paths only, so that listing plugins imports nothing heavy."""

from diffloom.plugins import Register, hookimpl

DIFFLOOM_PLUGIN_API = 3


@hookimpl
def diffloom_register_models(register: Register) -> None:
    """Offer the model "magnets"."""
    register("magnets", "loom_magnets.model:MagnetsModel", summary="Floating magnets that push each other about")


@hookimpl
def diffloom_register_terms(register: Register) -> None:
    """Offer the term "dipoles"."""
    register("dipoles", "loom_magnets.dipoles:Dipoles", summary="Forces between magnetic dipoles")
