"""Registrations of loom-rprop: import paths only, so that listing plugins imports nothing heavy."""

from diffloom.plugins import Register, hookimpl

DIFFLOOM_PLUGIN_API = 3


# Optional, so that it causes no warning where diffloom-fitting, which defines the hook, is not installed.
@hookimpl(optionalhook=True)
def diffloom_register_optimisers(register: Register) -> None:
    """Offer the optimiser "rprop"."""
    register("rprop", "loom_rprop.optimiser:Rprop", summary="Resilient backpropagation: by the gradient's sign alone")
