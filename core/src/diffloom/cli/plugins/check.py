"""``diffloom plugins check NAME``: does what a plugin offers load?"""

from collections.abc import Iterable

import click

from diffloom.plugins import FactoryError, survey
from diffloom.plugins.entry import Entry
from diffloom.plugins.kinds import KINDS
from diffloom.plugins.report import PluginReport, PluginState
from diffloom.plugins.selection import normalized


@click.command()
@click.argument("name")
def check(name: str) -> None:
    """Check the plugin, or the one model, integrator, renderer ... called NAME."""
    report, entries = _find(name)
    if report is not None and report.state is not PluginState.LOADED:
        raise click.ClickException(str(report))
    outcomes = [_loads(entry) for entry in entries]
    failed, skipped = outcomes.count("failed"), outcomes.count("skipped")
    click.echo(f"{len(outcomes)} checks ran: {outcomes.count('ok')} passed, {failed} failed, {skipped} skipped")
    if failed:
        raise click.exceptions.Exit(1)


def _find(name: str) -> tuple[PluginReport | None, tuple[Entry, ...]]:
    """The plugin of this name with all its offers, or just the offers of this name."""
    registry = survey()
    for report in registry.plugins:
        if normalized(name) in (normalized(report.origin.plugin), normalized(report.origin.distribution)):
            return report, report.offers
    entries = tuple(entry for kind in KINDS for entry in registry.entries(kind) if entry.name == name)
    if not entries:
        raise click.ClickException(f"nothing called {name!r} is installed. {_known(registry.plugins)}")
    return None, entries


def _known(reports: Iterable[PluginReport]) -> str:
    return "Installed plugins: " + ", ".join(report.origin.plugin for report in reports if report.origin.distribution)


def _loads(entry: Entry) -> str:
    label = f"{entry.kind.singular} {entry.name}: loads from {entry.path}"
    reason = entry.unavailable()
    if reason is not None:
        click.echo(f"SKIPPED  {label}: unavailable here: {reason}")
        return "skipped"
    try:
        entry.load()
    except FactoryError as error:
        click.echo(f"FAILED   {label}: {error}")
        return "failed"
    click.echo(f"ok       {label}")
    return "ok"
