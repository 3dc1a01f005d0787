"""Tables and JSON that ``diffloom plugins check`` prints."""

from collections.abc import Sequence
from typing import Any

import click

from diffloom_testing.results import CheckOutcome, CheckReport, CheckResult

_COLOURS = {
    CheckOutcome.PASSED: "green",
    CheckOutcome.FAILED: "red",
    CheckOutcome.SKIPPED: "yellow",
    CheckOutcome.EXPECTED: "yellow",
}


def as_data(reports: Sequence[CheckReport]) -> dict[str, Any]:
    """Return all results as plain data, with the counts."""
    return {
        "counts": _counts(reports),
        "subjects": [
            {
                "kind": report.kind,
                "name": report.name,
                "skipped_families": report.skipped_families,
                "results": [
                    {
                        "check": r.check,
                        "outcome": str(r.outcome),
                        "detail": r.detail,
                        "seconds": round(r.seconds, 4),
                        "comparisons": r.comparisons,
                    }
                    for r in report.results
                ],
            }
            for report in reports
        ],
    }


def show(reports: Sequence[CheckReport], verbose: bool) -> None:
    """Print a table for each subject, then failures, skipped families with reasons, and the counts."""
    for report in reports:
        click.secho(f"{report.kind} {report.name}", bold=True)
        _print_table(_each(report) if verbose else _by_family(report))
        for cause in report.causes:
            click.secho(f"FAILED   {cause}", fg="red")
        for family, reason in report.skipped_families.items():
            click.echo(f"SKIPPED  all of {family}: {reason}")
        click.echo()
    counts = _counts(reports)
    click.echo(
        f"{counts['ran']} checks ran: {counts['passed']} passed, {counts['failed']} failed, "
        f"{counts['skipped']} skipped"
        + (f", {counts['expected']} failed as expected" if counts["expected"] else "")
        + f"; {counts['compared']} compared something"
    )


def _counts(reports: Sequence[CheckReport]) -> dict[str, int]:
    """Return the counts of outcomes over all reports."""
    found = {outcome: sum(report.count(outcome) for report in reports) for outcome in CheckOutcome}
    return {
        "ran": sum(found.values()) - found[CheckOutcome.SKIPPED],
        "passed": found[CheckOutcome.PASSED],
        "failed": found[CheckOutcome.FAILED],
        "skipped": found[CheckOutcome.SKIPPED],
        "expected": found[CheckOutcome.EXPECTED],
        "compared": sum(report.compared for report in reports),
    }


Row = tuple[str, str, CheckOutcome, str]


def _by_family(report: CheckReport) -> list[Row]:
    """Return one row per family: counts of the outcomes, the colour of the worst, and the first skip."""
    rows: list[Row] = []
    for family in dict.fromkeys(result.family for result in report.results):
        results = [result for result in report.results if result.family == family]
        counts = [(outcome, [r for r in results if r.outcome is outcome]) for outcome in CheckOutcome]
        said = ", ".join(f"{len(found)} {outcome}" for outcome, found in counts if found)
        order = (CheckOutcome.FAILED, CheckOutcome.EXPECTED, CheckOutcome.PASSED, CheckOutcome.SKIPPED)
        first = next(outcome for outcome in order if any(r.outcome is outcome for r in results))
        rows.append((family, said, first, f"{sum(r.seconds for r in results):.1f} s"))
    return rows


def _each(report: CheckReport) -> list[Row]:
    """Return one row per check."""
    return [(result.check, str(result.outcome), result.outcome, _note(result)) for result in report.results]


def _note(result: CheckResult) -> str:
    """Return the note of a row; failures are printed below the table."""
    return result.detail if result.outcome is not CheckOutcome.FAILED else "see below"


def _print_table(rows: list[Row]) -> None:
    """Print rows of name, outcome and note."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    for name, said, outcome, note in rows:
        table.add_row(Text(name), Text(said, style=_COLOURS[outcome]), Text(note, style="bright_black"))
    Console().print(table)
