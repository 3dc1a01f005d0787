"""Command ``diffloom plugins check NAME``: run the conformance suite of everything that a plugin registers."""

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from diffloom.plugins import Entry, FactoryError, PluginReport, PluginState, installed_registry, normalise_name

if TYPE_CHECKING:
    from diffloom_testing import CheckReport, CheckResult


@click.command()
@click.argument("name")
@click.option("--family", "families", multiple=True, metavar="FAMILY", help="Only these checks; may be repeated.")
@click.option("--verbose", "-v", is_flag=True, help="List every check, not only families and failures.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
def check(name: str, families: tuple[str, ...], verbose: bool, as_json: bool) -> None:
    """Check the plugin, or the one model, integrator, renderer ... called NAME.

    Runs the conformance suite of diffloom_testing on everything it offers. The exit code is 1 when a check fails.
    """
    report, entries = _find(name)
    if report is not None and report.state is not PluginState.LOADED:
        raise click.ClickException(str(report))
    reports = [_check_entry(entry, families) for entry in entries]
    if as_json:
        from diffloom_testing.cli.check_output import as_data

        click.echo(json.dumps(as_data(reports), indent=2))
    else:
        from diffloom_testing.cli.check_output import show

        show(reports, verbose)
    if any(found.failures for found in reports):
        raise click.exceptions.Exit(1)


def _find(name: str) -> tuple[PluginReport | None, tuple[Entry, ...]]:
    """Return the plugin of this name with all its entries, or the entries of this name."""
    registry = installed_registry()
    for report in registry.plugins:
        if normalise_name(name) in (normalise_name(report.origin.plugin), normalise_name(report.origin.distribution)):
            return report, report.offers
    entries = tuple(entry for kind in registry.kinds for entry in registry.entries(kind) if entry.name == name)
    if not entries:
        raise click.ClickException(
            f"{name!r} is neither an installed plugin nor a name that one registers. {_list_plugins(registry.plugins)}"
        )
    return None, entries


def _list_plugins(reports: Iterable[PluginReport]) -> str:
    """Return a sentence that lists the installed plugins."""
    return "Installed plugins: " + ", ".join(report.origin.plugin for report in reports if report.origin.distribution)


def _check_entry(entry: Entry, families: tuple[str, ...]) -> "CheckReport":
    """Return a report on one entry: whether it loads and, if its kind has a suite, the results of the suite."""
    from diffloom_testing.results import CheckOutcome, CheckReport, CheckResult

    what = f"loading.from[{entry.path}]"
    reason = entry.unavailable()
    if reason is not None:
        unavailable = CheckResult(what, CheckOutcome.SKIPPED, f"unavailable here: {reason}")
        return CheckReport(entry.kind.singular, entry.name, (unavailable,))
    try:
        entry.load()
    except FactoryError as error:
        return CheckReport(entry.kind.singular, entry.name, (CheckResult(what, CheckOutcome.FAILED, str(error)),))
    loaded = CheckResult(what, CheckOutcome.PASSED)
    return CheckReport(entry.kind.singular, entry.name, (loaded, *_suite(entry, families)))


def _suite(entry: Entry, families: tuple[str, ...]) -> "Iterable[CheckResult]":
    """Return the results of the suite of an entry's kind."""
    from diffloom_testing.results import CheckOutcome, CheckResult
    from diffloom_testing.suites import get_suite, run_suite, suite_names

    kind = entry.kind.singular
    if kind not in suite_names():
        return (CheckResult("suite.none", CheckOutcome.SKIPPED, f"the kind {kind!r} has no suite; only loaded"),)
    try:
        subject = get_suite(kind)(entry.name)
    except TypeError as error:
        return (CheckResult("suite.subject", CheckOutcome.FAILED, str(error)),)
    try:
        return run_suite(subject, families=families or None).results
    except ValueError as error:
        raise click.ClickException(str(error)) from error
