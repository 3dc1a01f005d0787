"""The command ``diffloom`` itself: its options, and its commands as the registry knows them."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import click

from diffloom.cli.lazy_group import write_commands
from diffloom.plugins import FactoryError, UnknownNameError, current_registry, installed_registry
from diffloom.plugins.kinds import COMMANDS
from diffloom.plugins.loader import CORE
from diffloom.plugins.selection import EXCEPT


class RegistryGroup(click.Group):
    """Commands by name from the registry: listed by their summaries, imported when run."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(installed_registry().names(COMMANDS))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        try:
            entry = installed_registry().entry(COMMANDS, cmd_name)
        except UnknownNameError as error:
            raise click.UsageError(str(error), ctx) from error
        if entry.origin.plugin != CORE:
            # The core's commands are there to look into broken plugins; all others obey strict mode.
            current_registry()
        command = entry.load()
        if not isinstance(command, click.Command):
            raise FactoryError(f"the command {cmd_name!r} of {entry.origin} ({entry.path}) is not a click command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        write_commands(formatter, [(entry.name, entry.summary) for entry in installed_registry().entries(COMMANDS)])


@contextmanager
def _without(names: tuple[str, ...]) -> Iterator[None]:
    """Switch plugins off in this process and in those it starts."""
    before = os.environ.get(EXCEPT)
    os.environ[EXCEPT] = ",".join([*([before] if before else []), *names])
    try:
        yield
    finally:
        if before is None:
            del os.environ[EXCEPT]
        else:
            os.environ[EXCEPT] = before


def _switch_off(ctx: click.Context, option: click.Parameter, names: tuple[str, ...]) -> tuple[str, ...]:
    if names:
        ctx.with_resource(_without(names))
    return names


def _show_version(ctx: click.Context, option: click.Parameter, asked: bool) -> None:
    if asked and not ctx.resilient_parsing:
        from diffloom import __version__

        click.echo(f"diffloom-core {__version__}")
        ctx.exit()


@click.group(cls=RegistryGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--no-plugin",
    metavar="NAME",
    multiple=True,
    is_eager=True,
    expose_value=False,
    callback=_switch_off,
    help="Do without this plugin (its name or its distribution's); may be repeated.",
)
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_show_version, help="Show the version."
)
def diffloom() -> None:
    """Fit physics to pixels: any differentiable simulation woven with any differentiable renderer."""
