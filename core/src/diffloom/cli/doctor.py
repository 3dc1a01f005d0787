"""``diffloom doctor``: report on what runs here, what does not, and why.

Plugins register parts of the report: functions that return a `Section` of `DoctorFinding`s.
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
from typing import Any

import click

from diffloom.plugins import DIAGNOSTICS, RENDERERS, Entry, FactoryError, PluginReport, PluginState, installed_registry
from diffloom.plugins.selection import Selection

__all__ = ["DoctorFinding", "Health", "Section", "doctor", "find_library", "format_error", "run_probe"]

_VARIABLES = ("DIFFLOOM_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "OMP_NUM_THREADS")
_FIRST = ("runtime", "numba", "cuda")


class Health(StrEnum):
    """Result of one examination.

    OK: it works. ABSENT: it is optional and not installed, or cannot run on this machine. BROKEN: it is installed and
    does not work. FATAL: diffloom cannot work without it.
    """

    OK = "ok"
    ABSENT = "absent"
    BROKEN = "broken"
    FATAL = "fatal"


@dataclass(frozen=True)
class DoctorFinding:
    """Finding on one subject.

    Args:
        subject: Name of the thing examined.
        health: Result.
        detail: Explanation.
        advice: What to do, unless it works.
    """

    subject: str
    health: Health
    detail: str
    advice: str = ""


@dataclass(frozen=True)
class Section:
    """Section of the report.

    Args:
        title: Heading; sections with one title are merged.
        findings: Findings in order.
    """

    title: str
    findings: tuple[DoctorFinding, ...]


def format_error(error: BaseException) -> str:
    """Return an exception in one line.

    Args:
        error: Exception.

    Returns:
        Its type and message.
    """
    return " ".join(f"{type(error).__name__}: {error}".split())


def run_probe(subject: str, probe: Callable[[], DoctorFinding]) -> DoctorFinding:
    """Return the finding of ``probe``; an exception becomes a finding too.

    Args:
        subject: Name of the thing examined.
        probe: Function without arguments.

    Returns:
        Finding.
    """
    try:
        return probe()
    except (Exception, SystemExit) as error:
        return DoctorFinding(subject, Health.BROKEN, format_error(error))


def find_library(subject: str, module: str, distribution: str, purpose: str) -> DoctorFinding:
    """Return the finding on an optional library: whether it is installed and can be imported.

    Args:
        subject: Name of the library.
        module: Module to import for a test.
        distribution: Name for pip.
        purpose: Feature that needs the library.

    Returns:
        Finding.
    """
    try:
        # The package first, because find_spec raises for a submodule of an absent package.
        if importlib.util.find_spec(module.partition(".")[0]) is None:
            return DoctorFinding(subject, Health.ABSENT, f"not installed; needed for {purpose}")
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


@click.command(
    help="Report what runs here, what does not, and why: Python, PyTorch, numba, threads, CUDA, libraries, plugins."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
@click.pass_context
def doctor(ctx: click.Context, as_json: bool) -> None:
    """Report what runs here, what does not, and why.

    Args:
        ctx: click's context, whose exit code tells whether diffloom can work.
        as_json: True to print JSON.
    """
    sections = examine()
    if as_json:
        _print_json(sections)
    else:
        _print_text(sections)
    ctx.exit(_exit_code(sections))


def examine() -> list[Section]:
    """Return all sections: the runtime first, then those of plugins, then the plugins themselves.

    Sections with the same title are merged.
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
    """Return the findings on Python, PyTorch and processors."""
    return Section("Runtime", (_python(), _torch(), run_probe("threads", _threads)))


def _python() -> DoctorFinding:
    """Return the finding on Python."""
    detail = f"{platform.python_version()} on {platform.platform(terse=True)} {platform.machine()}, in {sys.prefix}"
    return DoctorFinding("Python", Health.OK, detail)


def _torch() -> DoctorFinding:
    """Return the finding on PyTorch."""
    try:
        import torch

        build = f"built for CUDA {torch.version.cuda}" if torch.version.cuda else "CPU build"
        return DoctorFinding("PyTorch", Health.OK, f"{torch.__version__}, {build}")
    except Exception as error:
        return DoctorFinding("PyTorch", Health.FATAL, format_error(error), "pip install torch")


def _threads() -> DoctorFinding:
    """Return the finding on processors and threads."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    parts = [f"{usable} of {os.cpu_count()} processors usable"]
    if "torch" in sys.modules:
        parts.append(f"PyTorch {sys.modules['torch'].get_num_threads()}")
    parts += [f"{name}={os.environ[name]}" for name in _VARIABLES if name in os.environ]
    return DoctorFinding("threads", Health.OK, ", ".join(parts))


def _examine_plugins() -> Section:
    """Return findings on every plugin that did not load, and on everything that the loaded ones register, imported as a
    test.
    """
    findings: list[DoctorFinding] = []
    for report in installed_registry().plugins:
        if report.state is PluginState.LOADED:
            findings += [run_probe(_label(entry), partial(_try, entry)) for entry in report.offers]
        else:
            findings.append(_not_loaded(report))
    return Section("Plugins", tuple(findings))


def _not_loaded(report: PluginReport) -> DoctorFinding:
    """Return the finding on a plugin that is not loaded."""
    advice = "DIFFLOOM_TRACE_PLUGINS=1 shows the traceback" if report.state is PluginState.BROKEN else ""
    source = f" of {report.origin}" if report.origin.distribution else ""
    return DoctorFinding(
        f"plugin {report.origin.plugin}{source}", _HEALTH[report.state], f"{report.state}: {report.reason}", advice
    )


def _try(entry: Entry) -> DoctorFinding:
    """Return the finding on a registered thing after importing it and, if it is a renderer, drawing a triangle."""
    reason = entry.unavailable()
    if reason is not None:
        return DoctorFinding(_label(entry), Health.ABSENT, f"unavailable here: {reason}")
    start = time.perf_counter()
    try:
        made = entry.load()
    except FactoryError as error:
        advice = f"reinstall or upgrade {entry.origin.distribution}, or tell its authors"
        return DoctorFinding(_label(entry), Health.BROKEN, str(error), advice)
    done = f"imported in {time.perf_counter() - start:.2f} s"
    if entry.kind != RENDERERS:
        return DoctorFinding(_label(entry), Health.OK, f"{entry.origin}, {done}")
    health, drawn = _draw_triangle(made)
    told = f"{entry.origin}, {done}, drew a triangle in {drawn}" if health is Health.OK else drawn
    return DoctorFinding(_label(entry), health, told)


def _draw_triangle(renderer: Any) -> tuple[Health, str]:
    """Draw a triangle with the default settings of a renderer; return the health, and the time or the reason."""
    import torch

    from diffloom.interfaces import Camera, InputError, Surface

    corners = torch.tensor([[[-0.8, -0.6, 0.0], [0.8, -0.6, 0.0], [0.0, 0.8, 0.0]]])
    start = time.perf_counter()
    try:
        surface = Surface(corners, torch.tensor([[0, 1, 2]]))
        image = renderer().render(surface, Camera.orbit(3.0, size=(16, 16)), outputs=("rgba",))
    except InputError as error:  # a renderer without its library says what to install
        return Health.ABSENT, " ".join(str(error).split())
    if image.rgba is None or not float(image.rgba[0, 8, 8, 3]) > 0.5:
        return Health.BROKEN, "the image shows no triangle where one is"
    return Health.OK, f"{time.perf_counter() - start:.2f} s"


def _label(entry: Entry) -> str:
    """Return kind and name of a registered thing."""
    return f"{entry.kind.singular} {entry.name}"


def _print_json(sections: list[Section]) -> None:
    """Print the findings as JSON."""
    click.echo(
        json.dumps({section.title: [asdict(finding) for finding in section.findings] for section in sections}, indent=2)
    )


def _print_text(sections: list[Section]) -> None:
    """Print the findings as text, with advice below those that do not work."""
    for section in sections:
        click.secho(section.title, bold=True)
        width = max((len(finding.subject) for finding in section.findings), default=0)
        for finding in section.findings:
            mark, colour = _MARKS[finding.health]
            click.echo(f"  {click.style(f'{mark:<2}', fg=colour)} {finding.subject:<{width}}  {finding.detail}")
            if finding.advice:
                click.echo(f"     {'':<{width}}  -> {finding.advice}")


def _exit_code(sections: list[Section]) -> int:
    """Return 1 if diffloom cannot work at all, or if strict mode is on and something is broken."""
    healths = {finding.health for section in sections for finding in section.findings}
    strict = Selection.from_environment().strict
    return int(Health.FATAL in healths or (strict and Health.BROKEN in healths))
