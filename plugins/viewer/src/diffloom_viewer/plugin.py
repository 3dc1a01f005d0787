"""Registrations of diffloom-viewer. Import paths only: nothing heavy is imported before it is used."""

from diffloom.plugins import Register, hookimpl

DIFFLOOM_PLUGIN_API = 3


@hookimpl
def diffloom_register_commands(register: Register) -> None:
    """Register the command "view"."""
    register("view", "diffloom_viewer.command:view", summary="Show a run or an experiment in 3D, in a browser")


@hookimpl
def diffloom_register_displays(register: Register) -> None:
    """Register the display that `diffloom run --view` opens."""
    register("live", "diffloom_viewer.window:LiveView", summary="A fit in 3D while it runs, in a browser")
