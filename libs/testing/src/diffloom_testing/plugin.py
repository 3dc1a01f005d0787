"""Registrations of diffloom-testing, as import paths, so that listing plugins imports nothing heavy."""

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
        summary="Run the conformance suite on everything that a plugin registers",
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
