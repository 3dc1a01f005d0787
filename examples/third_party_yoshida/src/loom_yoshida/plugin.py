"""Registrations of loom-yoshida: import paths only, so that listing plugins imports nothing heavy."""

from diffloom.plugins import Register, hookimpl

DIFFLOOM_PLUGIN_API = 3


@hookimpl
def diffloom_register_integrators(register: Register) -> None:
    """Offer the integrator "yoshida"."""
    register("yoshida", "loom_yoshida.integrator:Yoshida", summary="Yoshida: fourth order, symplectic")
