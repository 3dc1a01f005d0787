"""Running the command line in this process, against a registry of the test's own."""

from types import ModuleType

import click
import pytest
from click.testing import CliRunner, Result

from diffloom.cli.group import diffloom
from diffloom.plugins import Registry, hookimpl, use_registry
from diffloom.plugins.loader import load_plugins
from diffloom.plugins.selection import Selection


@click.command()
def hello() -> None:
    """Greet."""
    click.echo("hello")


def toy_plugin() -> ModuleType:
    module = ModuleType("toy_plugin")

    @hookimpl
    def diffloom_register_models(register):
        register("toy", "no_such_module:Toy", summary="A toy [model]")
        register("shy", "no_such_module:Shy", summary="A shy model", available=lambda: "no GPU here")

    @hookimpl
    def diffloom_register_commands(register):
        register("hello", hello, summary="Greet")
        register("absent", "no_such_module:command", summary="Not there")
        register("plugins wave", hello, summary="Wave")
        register("odd", "json:dumps", summary="Not a command")

    module.diffloom_register_models = diffloom_register_models
    module.diffloom_register_commands = diffloom_register_commands
    return module


@pytest.fixture
def registry() -> Registry:
    """The core and one toy plugin, nothing that happens to be installed."""
    registry = load_plugins(Selection(), [])
    registry.install(toy_plugin(), "toy", "toy-dist", "1.2")
    return registry


@pytest.fixture
def run(registry):
    def invoke(*arguments: str, **environment: str) -> Result:
        with use_registry(registry):
            return CliRunner().invoke(diffloom, arguments, env=environment)

    return invoke
