"""A group of commands that are imported only when they are run."""

from typing import Any

import click

from diffloom.plugins.entry import import_object


class LazyGroup(click.Group):
    """A click group whose commands are given as ``{name: (import path, summary)}``; help imports none of them."""

    def __init__(self, *args: Any, lazy: dict[str, tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._lazy = lazy

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(self._lazy)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self._lazy:
            return None
        command: click.Command = import_object(self._lazy[cmd_name][0])
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        write_commands(formatter, [(name, self._lazy[name][1]) for name in self.list_commands(ctx)])


def write_commands(formatter: click.HelpFormatter, rows: list[tuple[str, str]]) -> None:
    """Write the section of a group's help that lists its commands."""
    if rows:
        with formatter.section("Commands"):
            formatter.write_dl(rows)
