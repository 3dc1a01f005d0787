"""What to say when a name is not registered: what there is, the nearest match, how to install what is not."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from diffloom.plugins.catalogue import distribution_of, published_names
from diffloom.plugins.kinds import Kind
from diffloom.plugins.report import PluginReport, PluginState
from diffloom.plugins.selection import normalized


def explain_missing(kind: Kind, name: object, installed: Sequence[str], plugins: Iterable[PluginReport]) -> str:
    """A message for one who asked for the ``kind`` called ``name``."""
    listing = f"Installed {kind.plural.replace('_', ' ')}: {', '.join(installed) or 'none'}."
    if not isinstance(name, str):
        return f"a {kind.singular} is asked for by its name, not by {name!r}. {listing}"
    absent = [report for report in plugins if report.state not in (PluginState.LOADED, PluginState.MISSING)]
    distribution = distribution_of(kind, name)
    if distribution is not None:
        return (
            f"the {kind.singular} {name!r} comes with {distribution}, {_whereabouts(distribution, absent)}. {listing}"
        )
    owner = _would_offer(kind, name, absent)
    if owner is not None:
        plugin = f"the plugin {owner.origin.plugin!r} of {owner.origin}"
        return f"the {kind.singular} {name!r} comes with {plugin}, which is {owner.state}: {owner.reason}. {listing}"
    near = get_close_matches(name.lower(), [*installed, *published_names(kind)], n=1)
    if near:
        hint = f" Did you mean {near[0]!r}?"
        if near[0] not in installed:
            hint += f" It comes with {distribution_of(kind, near[0])}, which is not installed or not loaded."
        return f"there is no {kind.singular} {name!r}.{hint} {listing}"
    broken = "; ".join(str(report) for report in absent if report.faulty)
    lost = f" It may have been in what could not be loaded: {broken}." if broken else ""
    return f"there is no {kind.singular} {name!r}. {listing}{lost}"


def _would_offer(kind: Kind, name: str, absent: Sequence[PluginReport]) -> PluginReport | None:
    """The plugin that offered the name before it failed; else one that is called so, since most are called by it."""
    for report in absent:
        if any(offer.kind == kind and offer.name == name for offer in report.withheld):
            return report
    for report in absent:
        called = f"-{normalized(report.origin.distribution)}"
        if normalized(name) == normalized(report.origin.plugin) or called.endswith(f"-{normalized(name)}"):
            return report
    return None


def _whereabouts(distribution: str, absent: Iterable[PluginReport]) -> str:
    for report in absent:
        if normalized(report.origin.distribution) == distribution:
            return f"which is {report.state}: {report.reason}"
    return f"which is not installed: pip install {distribution}"
