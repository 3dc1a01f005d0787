"""What loom-yoshida offers diffloom. Names only: nothing heavy is imported until it is asked for."""

from diffloom.plugins import Register, hookimpl

DIFFLOOM_PLUGIN_API = 3


@hookimpl
def diffloom_register_integrators(register: Register) -> None:
    """Offer the integrator "yoshida"."""
    register("yoshida", "loom_yoshida.integrator:Yoshida", summary="Yoshida: fourth order, symplectic")
