"""Registrations of loom-diffusion: import paths only, so that listing plugins imports nothing heavy."""

from diffloom.plugins import Register, hookimpl

DIFFLOOM_PLUGIN_API = 3


@hookimpl
def diffloom_register_models(register: Register) -> None:
    """Offer the model "diffusion"."""
    register("diffusion", "loom_diffusion.model:DiffusionModel", summary="Heat that spreads on a plate")
