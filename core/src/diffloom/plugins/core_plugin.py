"""Commands of the core, registered through the same hooks as those of any plugin."""

from diffloom.plugins.hookspecs import PLUGIN_API, Register, hookimpl

DIFFLOOM_PLUGIN_API = PLUGIN_API


@hookimpl
def diffloom_register_commands(register: Register) -> None:
    """Register the commands of the core."""
    register("plugins", "diffloom.cli.plugins:plugins", summary="List, check and create plugins")
    register("doctor", "diffloom.cli.doctor:doctor", summary="Report what runs here, what does not, and why")


@hookimpl
def diffloom_register_diagnostics(register: Register) -> None:
    """Register the first part of ``diffloom doctor``: Python and PyTorch."""
    register("runtime", "diffloom.cli.doctor:runtime", summary="Python, PyTorch and processors")
