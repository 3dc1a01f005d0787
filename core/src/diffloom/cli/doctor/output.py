"""The doctor's findings, for people and for programs."""

import json
from dataclasses import asdict

import click

from diffloom.cli.doctor.finding import Health, Section
from diffloom.plugins.selection import Selection

_MARKS = {
    Health.OK: ("ok", "green"),
    Health.ABSENT: ("-", "yellow"),
    Health.BROKEN: ("!!", "red"),
    Health.FATAL: ("!!", "red"),
}


def print_json(sections: list[Section]) -> None:
    """Print the findings as JSON."""
    click.echo(
        json.dumps({section.title: [asdict(finding) for finding in section.findings] for section in sections}, indent=2)
    )


def print_text(sections: list[Section]) -> None:
    """Print the findings as text, with what to do under each that is not well."""
    for section in sections:
        click.secho(section.title, bold=True)
        width = max((len(finding.subject) for finding in section.findings), default=0)
        for finding in section.findings:
            mark, colour = _MARKS[finding.health]
            click.echo(f"  {click.style(f'{mark:<2}', fg=colour)} {finding.subject:<{width}}  {finding.detail}")
            if finding.advice:
                click.echo(f"     {'':<{width}}  -> {finding.advice}")


def exit_code(sections: list[Section]) -> int:
    """1 when diffloom cannot work at all, or when strict mode is on and something is broken."""
    healths = {finding.health for section in sections for finding in section.findings}
    strict = Selection.from_environment().strict
    return int(Health.FATAL in healths or (strict and Health.BROKEN in healths))
