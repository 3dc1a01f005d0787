"""Registrations of loom-sheet: import paths only, so that listing plugins imports nothing heavy."""

from diffloom.plugins import Register, hookimpl

DIFFLOOM_PLUGIN_API = 3


@hookimpl
def diffloom_register_commands(register: Register) -> None:
    """Offer the command "sheet"."""
    register("sheet", "loom_sheet.command:sheet", summary="Draw frames of a scene side by side")
