"""Plugins, and whether what they offer can be imported."""

import time
from functools import partial

from diffloom.cli.doctor.finding import Finding, Health, Section, guarded
from diffloom.plugins import FactoryError, installed_registry
from diffloom.plugins.entry import Entry
from diffloom.plugins.report import PluginReport, PluginState

_HEALTH = {
    PluginState.UNAVAILABLE: Health.ABSENT,
    PluginState.DISABLED: Health.ABSENT,
    PluginState.BROKEN: Health.BROKEN,
    PluginState.MISSING: Health.BROKEN,
}


def plugins() -> Section:
    """Every plugin that did not load, and everything that the others offer, imported for a try."""
    findings: list[Finding] = []
    for report in installed_registry().plugins:
        if report.state is PluginState.LOADED:
            findings += [guarded(_label(entry), partial(_try, entry)) for entry in report.offers]
        else:
            findings.append(_not_loaded(report))
    return Section("Plugins", tuple(findings))


def _not_loaded(report: PluginReport) -> Finding:
    advice = "DIFFLOOM_TRACE_PLUGINS=1 shows the traceback" if report.state is PluginState.BROKEN else ""
    source = f" of {report.origin}" if report.origin.distribution else ""
    return Finding(
        f"plugin {report.origin.plugin}{source}", _HEALTH[report.state], f"{report.state}: {report.reason}", advice
    )


def _try(entry: Entry) -> Finding:
    reason = entry.unavailable()
    if reason is not None:
        return Finding(_label(entry), Health.ABSENT, f"unavailable here: {reason}")
    start = time.perf_counter()
    try:
        entry.load()
    except FactoryError as error:
        advice = f"reinstall or upgrade {entry.origin.distribution}, or tell its authors"
        return Finding(_label(entry), Health.BROKEN, str(error), advice)
    return Finding(_label(entry), Health.OK, f"{entry.origin}, imported in {time.perf_counter() - start:.2f} s")


def _label(entry: Entry) -> str:
    return f"{entry.kind.singular} {entry.name}"
