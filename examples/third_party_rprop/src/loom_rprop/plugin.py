"""What loom-rprop offers diffloom. Names only: nothing heavy is imported until it is asked for."""

from diffloom.plugins import Register, hookimpl

DIFFLOOM_PLUGIN_API = 3


# Optional, so that a core of plugin API 1, which knows no such hook, says nothing of it.
@hookimpl(optionalhook=True)
def diffloom_register_optimisers(register: Register) -> None:
    """Offer the optimiser "rprop"."""
    register("rprop", "loom_rprop.optimiser:Rprop", summary="Resilient backpropagation: by the gradient's sign alone")
