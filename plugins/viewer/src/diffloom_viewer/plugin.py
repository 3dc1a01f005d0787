"""What diffloom-viewer offers diffloom. Names only: nothing heavy is imported until it is asked for."""

from diffloom.plugins import Register, hookimpl

DIFFLOOM_PLUGIN_API = 3


@hookimpl
def diffloom_register_commands(register: Register) -> None:
    """Offer the command "view"."""
    register("view", "diffloom_viewer.command:view", summary="Look at a run or an experiment in 3D, in a browser")
