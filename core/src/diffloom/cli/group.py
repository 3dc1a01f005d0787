"""Command ``diffloom``: its options, and its commands from the registry."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from diffloom.plugins import COMMANDS, Entry, FactoryError, UnknownNameError, current_registry, installed_registry
from diffloom.plugins.loader import CORE
from diffloom.plugins.selection import EXCEPT

__all__ = ["RegistryGroup", "diffloom"]


class RegistryGroup(click.Group):
    """Group of registered commands: listed by their summaries, imported when run.

    Args:
        *args: Arguments of ``click.Group``.
        within: First word of the names of its commands; empty for commands of one word.
        **kwargs: Further arguments of ``click.Group``.
    """

    def __init__(self, *args: Any, within: str = "", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._prefix = f"{within} " if within else ""

    def _entries(self) -> dict[str, Entry]:
        """Return the commands of this group by their name in it."""
        found = {entry.name: entry for entry in installed_registry().entries(COMMANDS)}
        names = {name: name.removeprefix(self._prefix) for name in found if name.startswith(self._prefix)}
        return {names[name]: found[name] for name in names if " " not in names[name]}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands.

        Args:
            ctx: click's context.

        Returns:
            Names.
        """
        return list(self._entries())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a command.

        Args:
            ctx: click's context.
            cmd_name: Name of the command in this group.

        Returns:
            click command.

        Raises:
            FactoryError: The command cannot be imported, or is no click command.
        """
        try:
            entry = installed_registry().entry(COMMANDS, self._prefix + cmd_name)
        except UnknownNameError as error:
            raise click.UsageError(str(error), ctx) from error
        if entry.origin.plugin != CORE:
            # The core's commands examine broken plugins, so strict mode applies to all commands but these.
            current_registry()
        command = entry.load()
        if not isinstance(command, click.Command):
            raise FactoryError(f"the command {cmd_name!r} of {entry.origin} ({entry.path}) is not a click command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands with their summaries.

        Args:
            ctx: click's context.
            formatter: click's formatter of the help.
        """
        _write_commands(formatter, [(name, entry.summary) for name, entry in self._entries().items()])


def _write_commands(formatter: click.HelpFormatter, rows: list[tuple[str, str]]) -> None:
    """Write the section of a group's help that lists its commands."""
    if rows:
        with formatter.section("Commands"):
            formatter.write_dl(rows)


@contextmanager
def _without(names: tuple[str, ...]) -> Iterator[None]:
    """Context manager: switch plugins off in this process and in those it starts."""
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
    """Switch plugins off for the duration of the command."""
    if names:
        ctx.with_resource(_without(names))
    return names


def _show_version(ctx: click.Context, option: click.Parameter, asked: bool) -> None:
    """Print the version, and exit."""
    if asked and not ctx.resilient_parsing:
        from diffloom import __version__

        click.echo(f"diffloom-core {__version__}")
        ctx.exit()


#: Shown at the end of the help.
COMPLETION = (
    'Tab completes commands and options after: eval "$(_DIFFLOOM_COMPLETE=bash_source diffloom)" (in ~/.bashrc; '
    "zsh_source and fish_source for those shells)"
)


@click.group(cls=RegistryGroup, context_settings={"help_option_names": ["-h", "--help"]}, epilog=COMPLETION)
@click.option(
    "--no-plugin",
    metavar="NAME",
    multiple=True,
    is_eager=True,
    expose_value=False,
    callback=_switch_off,
    help="Switch this plugin off (its name or its distribution's); may be repeated.",
)
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_show_version, help="Show the version."
)
def diffloom() -> None:
    """Fit physics to pixels: any differentiable simulation woven with any differentiable renderer."""
