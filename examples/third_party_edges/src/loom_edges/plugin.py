"""Registrations of loom-edges: import paths only, so that listing plugins imports nothing heavy."""

from diffloom.plugins import Register, hookimpl

DIFFLOOM_PLUGIN_API = 3


@hookimpl
def diffloom_register_losses(register: Register) -> None:
    """Offer the loss "edges"."""
    register("edges", "loom_edges.loss:EdgeError", summary="Mean squared difference of brightness from pixel to pixel")
