"""``diffloom plugins``: list the installed plugins. Its subcommands come from plugins, such as diffloom-testing."""

import json
from collections.abc import Sequence
from shutil import get_terminal_size
from textwrap import wrap
from typing import Any

import click

from diffloom.cli.group import RegistryGroup
from diffloom.plugins import PLUGIN_API, Entry, Kind, PluginReport, PluginState, Registry, installed_registry
from diffloom.plugins.selection import Selection

_COLOURS = {
    PluginState.LOADED: None,
    PluginState.UNAVAILABLE: "yellow",
    PluginState.BROKEN: "red",
    PluginState.DISABLED: "bright_black",
    PluginState.MISSING: "red",
}


@click.group(cls=RegistryGroup, within="plugins", invoke_without_command=True)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
@click.pass_context
def plugins(ctx: click.Context, as_json: bool) -> None:
    """List the installed plugins, what they register and which distribution defines each hook."""
    if ctx.invoked_subcommand is None:
        ctx.exit(_show(as_json))
    if as_json:
        raise click.UsageError("--json belongs to the list; a subcommand has options of its own", ctx)


def _show(as_json: bool) -> int:
    """Print the list, and return the exit code: 1 if strict mode is on and a plugin is broken or missing."""
    registry = installed_registry()
    reports = registry.plugins
    if as_json:
        click.echo(json.dumps(as_data(registry), indent=2))
    else:
        _print_tables(registry)
    return int(Selection.from_environment().strict and any(report.is_faulty for report in reports))


def as_data(registry: Registry) -> dict[str, Any]:
    """Return the list as plain data."""
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
    """Return a registered thing as plain data."""
    return {
        "kind": entry.kind.singular,
        "name": entry.name,
        "summary": entry.summary,
        "factory": entry.path,
        "unavailable": entry.unavailable(),
    }


def _print_tables(registry: Registry) -> None:
    """Print the list as tables."""
    entries = [entry for report in registry.plugins for entry in report.offers]
    entries.sort(key=lambda entry: (registry.kinds.index(entry.kind), entry.name))
    _print_table(
        ("offer", "name", "plugin", "what it is"),
        [(entry.kind.singular, entry.name, entry.origin.plugin, _summary(entry)) for entry in entries],
    )
    _print_table(("hook", "defined by"), [(kind.hook, _definer(registry, kind)) for kind in registry.kinds])
    _print_table(("plugin", "distribution", "state"), [_plugin_row(report) for report in registry.plugins])


def _summary(entry: Entry) -> str:
    """Return the summary of a registered thing, with the reason if it is unavailable."""
    reason = entry.unavailable()
    return entry.summary if reason is None else f"{entry.summary}; unavailable: {reason}"


def _definer(registry: Registry, kind: Kind) -> str:
    """Return the distribution that defines a hook."""
    origin = registry.definer(kind)
    return "diffloom-core" if origin is None else origin.distribution


def _plugin_row(report: PluginReport) -> tuple[str, str, str]:
    """Return the row of a plugin."""
    reason = f": {report.reason}" if report.reason else ""
    state = "; ".join([f"{report.state}{reason}", *report.warnings])
    return report.origin.plugin, f"{report.origin.distribution} {report.origin.version}".strip(), state


def _print_table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    """Print aligned columns and an empty line; the last column is wrapped to the terminal's width."""
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head) - 1)]
    indent = " " * sum(width + 2 for width in widths)
    room = max(30, get_terminal_size().columns - len(indent))
    for number, row in enumerate((head, *rows)):
        start = "".join(f"{cell:<{width}}  " for cell, width in zip(row, widths, strict=False))
        text = f"\n{indent}".join(wrap(row[-1], room) or [""])
        click.secho(start + text, bold=number == 0, fg=None if number == 0 else _colour(row[-1]))
    click.echo()


def _colour(text: str) -> str | None:
    """Return the colour of a row by its last cell: that of a plugin's state, or yellow for unavailable things."""
    state = text.partition(":")[0].partition(";")[0]
    if state in _COLOURS:
        return _COLOURS[PluginState(state)]
    return "yellow" if "; unavailable: " in text else None
