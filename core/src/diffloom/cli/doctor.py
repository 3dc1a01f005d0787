"""``diffloom doctor``: what runs here, what does not, and why.

Plugins register their own part of the examination: a function that returns a `Section` of `DoctorFinding`s.
"""

import importlib
import importlib.util
import json
import os
import platform
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from enum import StrEnum
from functools import partial
from importlib.metadata import PackageNotFoundError, version

import click

from diffloom.plugins import DIAGNOSTICS, Entry, FactoryError, PluginReport, PluginState, installed_registry
from diffloom.plugins.selection import Selection

__all__ = ["DoctorFinding", "Health", "Section", "doctor", "find_library", "format_error", "run_probe"]

_VARIABLES = ("DIFFLOOM_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "OMP_NUM_THREADS")
_FIRST = ("runtime", "numba", "cuda")


class Health(StrEnum):
    """How a thing is.

    OK: it works. ABSENT: it is optional and not there, or cannot run on this machine. BROKEN: it is there and does
    not work. FATAL: diffloom cannot work without it.
    """

    OK = "ok"
    ABSENT = "absent"
    BROKEN = "broken"
    FATAL = "fatal"


@dataclass(frozen=True)
class DoctorFinding:
    """One thing the doctor looked at: what it is, how it is, and, unless it is well, what to do."""

    subject: str
    health: Health
    detail: str
    advice: str = ""


@dataclass(frozen=True)
class Section:
    """Findings that belong together."""

    title: str
    findings: tuple[DoctorFinding, ...]


def format_error(error: BaseException) -> str:
    """An exception in one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())


def run_probe(subject: str, probe: Callable[[], DoctorFinding]) -> DoctorFinding:
    """The finding of ``look``; when looking itself fails, that is the finding."""
    try:
        return probe()
    except (Exception, SystemExit) as error:
        return DoctorFinding(subject, Health.BROKEN, format_error(error))


def find_library(subject: str, module: str, distribution: str, purpose: str) -> DoctorFinding:
    """Return whether an optional library is installed and can be imported.

    Args:
        subject: Its name, for people.
        module: Module to import for a try.
        distribution: Name for pip.
        purpose: What it would bring.
    """
    try:
        # The package first: looking for a module inside one that is absent is an error of its own.
        if importlib.util.find_spec(module.partition(".")[0]) is None:
            return DoctorFinding(subject, Health.ABSENT, f"not installed; it would bring {purpose}")
        importlib.import_module(module)
    except (Exception, SystemExit) as error:
        advice = "reinstall it for this Python and this PyTorch"
        return DoctorFinding(
            subject, Health.BROKEN, f"installed, but cannot be imported: {format_error(error)}", advice
        )
    try:
        release = version(distribution)
    except PackageNotFoundError:
        release = "of unknown version"
    return DoctorFinding(subject, Health.OK, f"{release}: {purpose}")


_MARKS = {
    Health.OK: ("ok", "green"),
    Health.ABSENT: ("-", "yellow"),
    Health.BROKEN: ("!!", "red"),
    Health.FATAL: ("!!", "red"),
}
_HEALTH = {
    PluginState.UNAVAILABLE: Health.ABSENT,
    PluginState.DISABLED: Health.ABSENT,
    PluginState.BROKEN: Health.BROKEN,
    PluginState.MISSING: Health.BROKEN,
}


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
@click.pass_context
def doctor(ctx: click.Context, as_json: bool) -> None:
    """Say what runs here, what does not, and why: Python, PyTorch, numba, threads, CUDA, other libraries, plugins."""
    sections = examine()
    if as_json:
        _print_json(sections)
    else:
        _print_text(sections)
    ctx.exit(_exit_code(sections))


def examine() -> list[Section]:
    """Return all sections: the runtime first, then what plugins diagnose, then the plugins themselves.

    Sections with the same title are joined.
    """
    entries = sorted(
        installed_registry().entries(DIAGNOSTICS),
        key=lambda entry: (_FIRST.index(entry.name) if entry.name in _FIRST else len(_FIRST), entry.name),
    )
    parts: list[tuple[str, Callable[[], Section]]] = [
        (entry.name, lambda entry=entry: entry.load()())  # type: ignore[misc]
        for entry in entries
    ]
    found: dict[str, tuple[DoctorFinding, ...]] = {}
    for name, part in (*parts, ("plugins", _examine_plugins)):
        try:
            section = part()
        except (Exception, SystemExit) as error:
            section = Section(name, (DoctorFinding(name, Health.BROKEN, format_error(error)),))
        found[section.title] = (*found.get(section.title, ()), *section.findings)
    return [Section(title, findings) for title, findings in found.items()]


def runtime() -> Section:
    """Return the findings on everything that any computation needs."""
    return Section("Runtime", (_python(), _torch(), run_probe("threads", _threads)))


def _python() -> DoctorFinding:
    detail = f"{platform.python_version()} on {platform.platform(terse=True)} {platform.machine()}, in {sys.prefix}"
    return DoctorFinding("Python", Health.OK, detail)


def _torch() -> DoctorFinding:
    try:
        import torch

        build = f"built for CUDA {torch.version.cuda}" if torch.version.cuda else "CPU build"
        return DoctorFinding("PyTorch", Health.OK, f"{torch.__version__}, {build}")
    except Exception as error:
        return DoctorFinding("PyTorch", Health.FATAL, format_error(error), "pip install torch")


def _threads() -> DoctorFinding:
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    parts = [f"{usable} of {os.cpu_count()} processors usable"]
    if "torch" in sys.modules:
        parts.append(f"PyTorch {sys.modules['torch'].get_num_threads()}")
    parts += [f"{name}={os.environ[name]}" for name in _VARIABLES if name in os.environ]
    return DoctorFinding("threads", Health.OK, ", ".join(parts))


def _examine_plugins() -> Section:
    """Every plugin that did not load, and everything that the others offer, imported for a try."""
    findings: list[DoctorFinding] = []
    for report in installed_registry().plugins:
        if report.state is PluginState.LOADED:
            findings += [run_probe(_label(entry), partial(_try, entry)) for entry in report.offers]
        else:
            findings.append(_not_loaded(report))
    return Section("Plugins", tuple(findings))


def _not_loaded(report: PluginReport) -> DoctorFinding:
    advice = "DIFFLOOM_TRACE_PLUGINS=1 shows the traceback" if report.state is PluginState.BROKEN else ""
    source = f" of {report.origin}" if report.origin.distribution else ""
    return DoctorFinding(
        f"plugin {report.origin.plugin}{source}", _HEALTH[report.state], f"{report.state}: {report.reason}", advice
    )


def _try(entry: Entry) -> DoctorFinding:
    reason = entry.unavailable()
    if reason is not None:
        return DoctorFinding(_label(entry), Health.ABSENT, f"unavailable here: {reason}")
    start = time.perf_counter()
    try:
        entry.load()
    except FactoryError as error:
        advice = f"reinstall or upgrade {entry.origin.distribution}, or tell its authors"
        return DoctorFinding(_label(entry), Health.BROKEN, str(error), advice)
    return DoctorFinding(_label(entry), Health.OK, f"{entry.origin}, imported in {time.perf_counter() - start:.2f} s")


def _label(entry: Entry) -> str:
    return f"{entry.kind.singular} {entry.name}"


def _print_json(sections: list[Section]) -> None:
    """Print the findings as JSON."""
    click.echo(
        json.dumps({section.title: [asdict(finding) for finding in section.findings] for section in sections}, indent=2)
    )


def _print_text(sections: list[Section]) -> None:
    """Print the findings as text, with what to do under each that is not well."""
    for section in sections:
        click.secho(section.title, bold=True)
        width = max((len(finding.subject) for finding in section.findings), default=0)
        for finding in section.findings:
            mark, colour = _MARKS[finding.health]
            click.echo(f"  {click.style(f'{mark:<2}', fg=colour)} {finding.subject:<{width}}  {finding.detail}")
            if finding.advice:
                click.echo(f"     {'':<{width}}  -> {finding.advice}")


def _exit_code(sections: list[Section]) -> int:
    """1 when diffloom cannot work at all, or when strict mode is on and something is broken."""
    healths = {finding.health for section in sections for finding in section.findings}
    strict = Selection.from_environment().strict
    return int(Health.FATAL in healths or (strict and Health.BROKEN in healths))
