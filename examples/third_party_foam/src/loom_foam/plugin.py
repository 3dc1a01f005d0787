"""Registrations of loom-foam: import paths only, so that listing plugins imports nothing heavy."""

from diffloom.plugins import Register, hookimpl

DIFFLOOM_PLUGIN_API = 3


@hookimpl
def diffloom_register_contact_laws(register: Register) -> None:
    """Offer the law "foam"."""
    register("foam", "loom_foam.law:Foam", summary="Foam: harder the deeper, damped in proportion to its force")
