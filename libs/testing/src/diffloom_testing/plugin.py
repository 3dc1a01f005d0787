"""Registrations of diffloom-testing. Import paths only: nothing heavy is imported before it is used."""

from diffloom.plugins import Kind, Register, hookimpl
from diffloom_testing.kinds import OWN_SUITES, SUITES

DIFFLOOM_PLUGIN_API = 3


@hookimpl
def diffloom_define_kinds() -> list[Kind]:
    """Return the kinds that this plugin defines."""
    return [SUITES]


@hookimpl
def diffloom_register_commands(register: Register) -> None:
    """Register the commands for plugin authors."""
    register(
        "plugins check",
        "diffloom_testing.cli.check:check",
        summary="Check that what a plugin offers loads and keeps its promises",
    )
    register(
        "plugins new",
        "diffloom_testing.cli.new:new",
        summary="Write a new plugin: an installable package with tests that pass",
    )


@hookimpl
def diffloom_register_suites(register: Register) -> None:
    """Register the suites of models, integrators, renderers and terms."""
    for kind, (path, summary) in OWN_SUITES.items():
        register(kind, path, summary=summary)
