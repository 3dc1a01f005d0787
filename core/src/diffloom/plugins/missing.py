"""What to say when a name is not registered: what there is, the nearest match, how to install what is not."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from diffloom.plugins import first_party
from diffloom.plugins.kinds import Kind
from diffloom.plugins.report import PluginReport, PluginState
from diffloom.plugins.selection import normalized


def explain_missing(kind: Kind, name: object, installed: Sequence[str], plugins: Iterable[PluginReport]) -> str:
    """A message for one who asked for the ``kind`` called ``name``."""
    listing = f"Installed {kind.plural}: {', '.join(installed) or 'none'}."
    if not isinstance(name, str):
        return f"a {kind.singular} is asked for by its name, not by {name!r}. {listing}"
    distribution = first_party.distribution_of(kind, name)
    if distribution is not None:
        return (
            f"the {kind.singular} {name!r} comes with {distribution}, {_whereabouts(distribution, plugins)}. {listing}"
        )
    near = get_close_matches(name.lower(), [*installed, *first_party.names(kind)], n=1)
    if not near:
        return f"there is no {kind.singular} {name!r}. {listing}"
    hint = f"Did you mean {near[0]!r}?"
    if near[0] not in installed:
        hint += f" It comes with {first_party.distribution_of(kind, near[0])}, which is not installed or not loaded."
    return f"there is no {kind.singular} {name!r}. {hint} {listing}"


def _whereabouts(distribution: str, plugins: Iterable[PluginReport]) -> str:
    for report in plugins:
        if normalized(report.origin.distribution) == distribution and report.state is not PluginState.LOADED:
            return f"which is {report.state}: {report.reason}"
    return f"which is not installed: pip install {distribution}"
