"""Load plugins one at a time, so that no broken one can bring down the rest."""

import contextlib
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Sequence

from diffloom.plugins import core_plugin
from diffloom.plugins.collect import Collected, collect
from diffloom.plugins.discovery import Candidate, core_version, discover
from diffloom.plugins.entry import Origin
from diffloom.plugins.errors import PluginError, RegistrationError, UnavailableError
from diffloom.plugins.registry import Registry
from diffloom.plugins.report import PluginReport, PluginState
from diffloom.plugins.selection import Selection, normalized

CORE = "core"


def load_plugins(selection: Selection, candidates: Sequence[Candidate] | None = None) -> Registry:
    """A registry of the core and of every selected plugin that is sound; the others are named on stderr.

    candidates: plugins to consider instead of the installed ones.
    """
    registry = Registry()
    registry.install(core_plugin, CORE, "diffloom-core", core_version())
    found = discover() if candidates is None else candidates
    for candidate in found:
        _note(_load(candidate, registry, selection))
    for report in _missing(selection, found):
        registry.record(report)
        _note(report)
    return registry


def _load(candidate: Candidate, registry: Registry, selection: Selection) -> PluginReport:
    origin = candidate.origin
    refusal = selection.refuses(origin.plugin, origin.distribution)
    if refusal is not None:
        report = PluginReport(origin, PluginState.DISABLED, refusal)
    else:
        report = _attempt(candidate, registry, selection)
    _trace(selection)(f"{report} ({1e3 * report.seconds:.1f} ms)")
    if report.state is not PluginState.LOADED:
        registry.record(report)
    return report


def _attempt(candidate: Candidate, registry: Registry, selection: Selection) -> PluginReport:
    """Import, collect, record. Whatever a plugin does wrong, short of an interrupt, ends here."""
    origin = candidate.origin
    start = time.perf_counter()
    found = Collected()
    try:
        _refuse_namesake(origin, registry)
        # What a plugin prints must not end up amid the output of a command.
        with contextlib.redirect_stdout(sys.stderr):
            plugin = candidate.load()
            collect(plugin, origin, _trace(selection), found)
        seconds = time.perf_counter() - start
        report = PluginReport(origin, PluginState.LOADED, "", tuple(found.offers), seconds, tuple(found.warnings))
        registry.record(report)
        return report
    except KeyboardInterrupt:
        raise
    except UnavailableError as error:
        state, reason = PluginState.UNAVAILABLE, _one_line(str(error))
    except PluginError as error:
        state, reason = PluginState.BROKEN, _one_line(str(error))
    except BaseException as error:  # also SystemExit, and panics of compiled extensions
        state, reason = PluginState.BROKEN, _one_line(f"{type(error).__name__}: {error}")
        _trace(selection)(traceback.format_exc())
    return PluginReport(origin, state, reason, (), time.perf_counter() - start, withheld=tuple(found.offers))


def _refuse_namesake(origin: Origin, registry: Registry) -> None:
    for report in registry.plugins:
        if report.origin.plugin == origin.plugin:
            raise RegistrationError(
                f"both {report.origin} and {origin} call their plugin {origin.plugin!r}; "
                f"the one of {report.origin.distribution} stays: uninstall or switch off one of them"
            )


def _missing(selection: Selection, found: Iterable[Candidate]) -> list[PluginReport]:
    origins = [candidate.origin for candidate in found]
    there = {normalized(name) for origin in origins for name in (origin.plugin, origin.distribution)}
    listing = ", ".join(sorted(origin.plugin for origin in origins)) or "none"
    reports = []
    for name in sorted((selection.only or frozenset()) | selection.without):
        if name in (CORE, "diffloom-core"):
            if name in selection.without:
                reports.append(_absent(name, "the core cannot be switched off"))
        elif name not in there:
            reports.append(_absent(name, f"no plugin of this name is installed; installed: {listing}"))
    return reports


def _absent(name: str, reason: str) -> PluginReport:
    return PluginReport(Origin(name, "", ""), PluginState.MISSING, reason)


def _note(report: PluginReport) -> None:
    if report.faulty:
        print(f"diffloom: {report}", file=sys.stderr)
    for line in report.warnings:
        print(f"diffloom: plugin {report.origin.plugin!r} of {report.origin}: {line}", file=sys.stderr)


def _trace(selection: Selection) -> Callable[[str], object]:
    if not selection.trace:
        return lambda text: None
    return lambda text: sys.stderr.write(f"diffloom trace: {text}\n")


def _one_line(text: str) -> str:
    return " ".join(text.split())
