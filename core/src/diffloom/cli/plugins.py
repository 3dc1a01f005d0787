"""``diffloom plugins``: lists what is installed; its subcommands come from plugins, such as diffloom-testing."""

import json
from typing import TYPE_CHECKING, Any

import click

from diffloom.cli.group import RegistryGroup
from diffloom.plugins import PLUGIN_API, Entry, Kind, PluginReport, PluginState, Registry, installed_registry
from diffloom.plugins.selection import Selection

if TYPE_CHECKING:
    from rich.table import Table

_COLOURS = {
    PluginState.LOADED: "green",
    PluginState.UNAVAILABLE: "yellow",
    PluginState.BROKEN: "red",
    PluginState.DISABLED: "bright_black",
    PluginState.MISSING: "red",
}


@click.group(cls=RegistryGroup, within="plugins", invoke_without_command=True)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
@click.pass_context
def plugins(ctx: click.Context, as_json: bool) -> None:
    """List the installed plugins, what they offer and who defined each hook."""
    if ctx.invoked_subcommand is None:
        ctx.exit(_show(as_json))
    if as_json:
        raise click.UsageError("--json belongs to the list; a subcommand has options of its own", ctx)


def _show(as_json: bool) -> int:
    """Print the list; the exit code is 1 when strict mode is on and a plugin is broken or missing."""
    registry = installed_registry()
    reports = registry.plugins
    if as_json:
        click.echo(json.dumps(as_data(registry), indent=2))
    else:
        _print_tables(registry)
    return int(Selection.from_environment().strict and any(report.faulty for report in reports))


def as_data(registry: Registry) -> dict[str, Any]:
    """The list as plain data."""
    return {
        "plugin_api": PLUGIN_API,
        "plugins": [
            {
                "name": report.origin.plugin,
                "distribution": report.origin.distribution or None,
                "version": report.origin.version or None,
                "state": str(report.state),
                "reason": report.reason or None,
                "warnings": list(report.warnings),
                "seconds": round(report.seconds, 6),
                "offers": [_offer(entry) for entry in report.offers],
            }
            for report in registry.plugins
        ],
        "hooks": [
            {"hook": kind.hook, "kind": kind.singular, "defined_by": _definer(registry, kind)}
            for kind in registry.kinds
        ],
    }


def _offer(entry: Entry) -> dict[str, Any]:
    return {
        "kind": entry.kind.singular,
        "name": entry.name,
        "summary": entry.summary,
        "factory": entry.path,
        "unavailable": entry.unavailable(),
    }


def _print_tables(registry: Registry) -> None:
    from rich.console import Console

    console = Console()
    console.print(_offers_table(registry))
    console.print()
    console.print(_hooks_table(registry))
    console.print()
    console.print(_plugins_table(registry.plugins))


def _offers_table(registry: Registry) -> "Table":
    from rich.text import Text

    table = _table("offer", "name", "plugin", "what it is")
    entries = [entry for report in registry.plugins for entry in report.offers]
    for entry in sorted(entries, key=lambda entry: (registry.kinds.index(entry.kind), entry.name)):
        text = Text(entry.summary)
        reason = entry.unavailable()
        if reason is not None:
            text.append(f"; unavailable: {reason}", style="yellow")
        # As Text, not str: a bracket in somebody's name is not markup.
        table.add_row(entry.kind.singular, Text(entry.name, style="bold"), Text(entry.origin.plugin), text)
    return table


def _hooks_table(registry: Registry) -> "Table":
    from rich.text import Text

    table = _table("hook", "defined by")
    for kind in registry.kinds:
        table.add_row(Text(kind.hook), Text(_definer(registry, kind)))
    return table


def _definer(registry: Registry, kind: Kind) -> str:
    """Return the distribution that defines a hook."""
    origin = registry.definer(kind)
    return "diffloom-core" if origin is None else origin.distribution


def _plugins_table(reports: tuple[PluginReport, ...]) -> "Table":
    from rich.text import Text

    table = _table("plugin", "distribution", "state")
    for report in reports:
        state = Text(str(report.state), style=_COLOURS[report.state])
        if report.reason:
            state.append(f": {report.reason}")
        for line in report.warnings:
            state.append(f"; {line}", style="yellow")
        distribution = f"{report.origin.distribution} {report.origin.version}".strip()
        table.add_row(Text(report.origin.plugin), Text(distribution), state)
    return table


def _table(*columns: str) -> "Table":
    from rich.table import Table

    return Table(*columns, box=None, pad_edge=False, padding=(0, 2, 0, 0))
