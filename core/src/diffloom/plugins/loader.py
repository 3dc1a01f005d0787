"""Loader of the installed plugins, one at a time, so that a broken one does not affect the rest."""

import contextlib
import re
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import Distribution, EntryPoint, PackageNotFoundError, distribution, entry_points

from diffloom.plugins import core_plugin
from diffloom.plugins.catalogue import list_published_distributions
from diffloom.plugins.collect import PluginRegistrations, collect, collect_kinds
from diffloom.plugins.entry import Origin, PluginReport, PluginState
from diffloom.plugins.errors import PluginError, RegistrationError, UnavailableError
from diffloom.plugins.hookspecs import ENTRY_POINT_GROUP
from diffloom.plugins.registry import Registry
from diffloom.plugins.selection import Selection, normalise_name

CORE = "core"
_FIELD = re.compile(r"^(Name|Version): (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Candidate:
    """Installed plugin that is not imported yet."""

    origin: Origin
    load: Callable[[], object]


def discover() -> list[Candidate]:
    """Return all installed plugins in loading order: the project's own first, then by name."""
    candidates = [_candidate(point) for point in entry_points(group=ENTRY_POINT_GROUP)]
    return sorted(candidates, key=_order)


def core_version() -> str:
    """Return the version of diffloom-core, or "unknown" if it runs from a folder that is not installed."""
    try:
        return _name_and_version(distribution("diffloom-core"))[1]
    except PackageNotFoundError:
        return "unknown"


def _candidate(point: EntryPoint) -> Candidate:
    """Return the candidate of an entry point."""
    if point.dist is None:
        return Candidate(Origin(point.name, point.value, "unknown"), point.load)
    return Candidate(Origin(point.name, *_name_and_version(point.dist)), point.load)


def _name_and_version(found_in: Distribution) -> tuple[str, str]:
    """Return name and version of a distribution."""
    # Search two lines of the head, because parsing all of it, as ``metadata`` does, dominates the time of listing.
    head = (found_in.read_text("METADATA") or "").partition("\n\n")[0]
    found = dict(_FIELD.findall(head))
    if len(found) < 2:
        return found_in.metadata["Name"], found_in.version
    return found["Name"], found["Version"]


def _order(candidate: Candidate) -> tuple[bool, str, str]:
    """Return the sort key of a candidate."""
    origin = candidate.origin
    return normalise_name(origin.distribution) not in list_published_distributions(), origin.plugin, origin.distribution


def core_registry(*plugins: str) -> Registry:
    """Return a new registry with the things of the core and of the named installed plugins alone.

    Args:
        *plugins: Names of plugins, such as "mechanics".

    Returns:
        Registry.

    Raises:
        BrokenPluginsError: A plugin is not installed or cannot be loaded.
    """
    if plugins:
        found = [candidate for candidate in discover() if candidate.origin.plugin in plugins]
        registry = load_plugins(Selection(only=frozenset(normalise_name(name) for name in plugins)), found)
        registry.raise_if_faulty()
        return registry
    registry = Registry()
    registry.install(core_plugin, CORE, "diffloom-core", core_version())
    return registry


def load_plugins(selection: Selection, candidates: Sequence[Candidate] | None = None) -> Registry:
    """Return a registry of the core and of every selected plugin that loads; failures are reported on stderr.

    Args:
        selection: Plugins to load.
        candidates: Plugins to consider instead of the installed ones.
    """
    registry = core_registry()
    found = discover() if candidates is None else candidates
    # All kinds are defined before anything is registered, so the order of plugins does not matter.
    loads = [_Load(candidate, registry, selection) for candidate in found]
    for load in loads:
        load.define_kinds()
    for load in loads:
        load.register()
    for load in loads:
        load.withdraw_if_failed()
    for report in _report_missing(selection, found):
        registry.record(report)
    for report in registry.reports:
        _note(report)
    return registry


class _Load:
    """Loading of one plugin; all its failures except an interrupt become the reason in its report."""

    def __init__(self, candidate: Candidate, registry: Registry, selection: Selection) -> None:
        self._candidate, self._registry, self._selection = candidate, registry, selection
        self._found = PluginRegistrations()
        self._seconds = 0.0
        self._plugin: object = None
        refusal = selection.refuses(candidate.origin.plugin, candidate.origin.distribution)
        self._failure = None if refusal is None else (PluginState.DISABLED, refusal)

    def define_kinds(self) -> None:
        """Import the plugin and add its kinds to the registry."""

        def define() -> None:
            origin = self._candidate.origin
            _refuse_namesake(origin, self._registry)
            self._plugin = self._candidate.load()
            self._registry.define_kinds(collect_kinds(self._plugin, origin), origin)

        self._attempt(define)

    def register(self) -> None:
        """Collect what the plugin registers and record it in the registry."""

        def register() -> None:
            origin = self._candidate.origin
            _refuse_namesake(origin, self._registry)
            collect(self._plugin, origin, self._registry.kinds, _trace(self._selection), self._found)
            self._registry.record(self._report(PluginState.LOADED))

        self._attempt(register)
        report = self._report(*(self._failure or (PluginState.LOADED,)))
        _trace(self._selection)(f"{report} ({1e3 * report.seconds:.1f} ms)")
        if self._failure is not None:
            self._registry.record(report)

    def withdraw_if_failed(self) -> None:
        """Remove the kinds that the plugin defined before it failed."""
        if self._failure is not None:
            self._registry.withdraw_kinds(self._candidate.origin)

    def _report(self, state: PluginState, reason: str = "") -> PluginReport:
        """Return the report on the plugin in this state."""
        offers, warnings = tuple(self._found.offers), tuple(self._found.warnings)
        if state is PluginState.LOADED:
            return PluginReport(self._candidate.origin, state, "", offers, self._seconds, warnings)
        return PluginReport(self._candidate.origin, state, reason, (), self._seconds, withheld=offers)

    def _attempt(self, action: Callable[[], None]) -> None:
        """Run a step of the loading, unless an earlier one failed."""
        if self._failure is not None:
            return
        start = time.perf_counter()
        try:
            # Keep output of a plugin out of the output of a command.
            with contextlib.redirect_stdout(sys.stderr):
                action()
        except KeyboardInterrupt:
            raise
        except UnavailableError as error:
            self._failure = PluginState.UNAVAILABLE, _one_line(str(error))
        except PluginError as error:
            self._failure = PluginState.BROKEN, _one_line(str(error))
        except BaseException as error:  # also SystemExit, and panics of compiled extensions
            self._failure = PluginState.BROKEN, _one_line(f"{type(error).__name__}: {error}")
            _trace(self._selection)(traceback.format_exc())
        self._seconds += time.perf_counter() - start


def _refuse_namesake(origin: Origin, registry: Registry) -> None:
    """Raise RegistrationError if another plugin has the same name."""
    for report in registry.plugins:
        if report.origin.plugin == origin.plugin:
            raise RegistrationError(
                f"both {report.origin} and {origin} call their plugin {origin.plugin!r}; "
                f"the one of {report.origin.distribution} stays: uninstall or switch off one of them"
            )


def _report_missing(selection: Selection, found: Iterable[Candidate]) -> list[PluginReport]:
    """Return reports on plugins that the selection names and that are not installed."""
    origins = [candidate.origin for candidate in found]
    there = {normalise_name(name) for origin in origins for name in (origin.plugin, origin.distribution)}
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
    """Return the report on a missing plugin."""
    return PluginReport(Origin(name, "", ""), PluginState.MISSING, reason)


def _note(report: PluginReport) -> None:
    """Print the faults and warnings of a report."""
    if report.is_faulty:
        print(f"diffloom: {report}", file=sys.stderr)
    for line in report.warnings:
        print(f"diffloom: plugin {report.origin.plugin!r} of {report.origin}: {line}", file=sys.stderr)


def _trace(selection: Selection) -> Callable[[str], object]:
    """Return the function that prints trace lines, or does nothing."""
    if not selection.trace:
        return lambda text: None
    return lambda text: sys.stderr.write(f"diffloom trace: {text}\n")


def _one_line(text: str) -> str:
    """Return text with its whitespace collapsed."""
    return " ".join(text.split())
