"""Catalogue of published plugins, by which messages say which distribution brings a missing name.

``catalogue.json`` is written by ``tools/catalogue.py`` from the distributions; the core has no other knowledge of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from diffloom.plugins.entry import PluginReport, PluginState
from diffloom.plugins.kinds import HOOK_PREFIX, Kind
from diffloom.plugins.selection import normalise_name


@cache
def _text() -> str:
    """Return the text of the catalogue."""
    # Importing importlib.resources would take longer than reading the file.
    return Path(__file__).with_name("catalogue.json").read_text("utf-8")


@cache
def _list_published() -> dict[str, dict[str, Any]]:
    """Return what each distribution defines (plurals of kinds) and registers (names by the plural of their kind)."""
    import json  # imported for missing names alone, because every start calls this module

    found: dict[str, dict[str, Any]] = json.loads(_text())
    return found


@cache
def list_published_distributions() -> frozenset[str]:
    """Return the names of the published distributions, which load first so that their names cannot be taken."""
    return frozenset(re.findall(r'^ "([^"]+)": \{', _text(), re.MULTILINE))


def find_distribution(kind: Kind, name: str) -> str | None:
    """Return the distribution that brings ``name``, or None if no published one does."""
    for distribution, entry in _list_published().items():
        if name in entry["registers"].get(kind.plural, ()):
            return distribution
    return None


def find_defining_distribution(hook: str) -> str | None:
    """Return the distribution that defines a registration hook, or None if no published one does."""
    plural = hook.removeprefix(HOOK_PREFIX)
    return next((distribution for distribution, entry in _list_published().items() if plural in entry["defines"]), None)


def list_published_names(kind: Kind) -> tuple[str, ...]:
    """Return the names of all published things of a kind, sorted."""
    return tuple(
        sorted(name for entry in _list_published().values() for name in entry["registers"].get(kind.plural, ()))
    )


def explain_missing(kind: Kind, name: object, installed: Sequence[str], plugins: Iterable[PluginReport]) -> str:
    """Return the message about a name that is not registered: what to install, or similar names."""
    listing = f"Installed {kind.plural.replace('_', ' ')}: {', '.join(installed) or 'none'}."
    if not isinstance(name, str):
        return f"a {kind.singular} is looked up by its name: got {name!r}; expected a text. {listing}"
    absent = [report for report in plugins if report.state not in (PluginState.LOADED, PluginState.MISSING)]
    distribution = find_distribution(kind, name)
    if distribution is not None:
        return (
            f"the {kind.singular} {name!r} comes with {distribution}, {_whereabouts(distribution, absent)}. {listing}"
        )
    owner = _would_offer(kind, name, absent)
    if owner is not None:
        plugin = f"the plugin {owner.origin.plugin!r} of {owner.origin}"
        return f"the {kind.singular} {name!r} comes with {plugin}, which is {owner.state}: {owner.reason}. {listing}"
    from difflib import get_close_matches

    near = get_close_matches(name.lower(), [*installed, *list_published_names(kind)], n=1)
    if near:
        hint = f" Did you mean {near[0]!r}?"
        if near[0] not in installed:
            hint += f" It comes with {find_distribution(kind, near[0])}, which is not installed or not loaded."
        return f"there is no {kind.singular} {name!r}.{hint} {listing}"
    broken = "; ".join(str(report) for report in absent if report.is_faulty)
    lost = f" It may belong to a plugin that failed to load: {broken}." if broken else ""
    return f"there is no {kind.singular} {name!r}. {listing}{lost}"


def _would_offer(kind: Kind, name: str, absent: Sequence[PluginReport]) -> PluginReport | None:
    """Return the failed plugin that registered the name, or else one of that name."""
    for report in absent:
        if any(offer.kind == kind and offer.name == name for offer in report.withheld):
            return report
    for report in absent:
        called = f"-{normalise_name(report.origin.distribution)}"
        if normalise_name(name) == normalise_name(report.origin.plugin) or called.endswith(f"-{normalise_name(name)}"):
            return report
    return None


def _whereabouts(distribution: str, absent: Iterable[PluginReport]) -> str:
    """Return the state of a distribution, with the command that installs it."""
    for report in absent:
        if normalise_name(report.origin.distribution) == distribution:
            return f"which is {report.state}: {report.reason}"
    return f"which is not installed: pip install {distribution}"
