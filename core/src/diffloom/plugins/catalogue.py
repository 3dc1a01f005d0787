"""The catalogue of published plugins: which distribution brings a name that is missing.

The data stands in ``catalogue.json``, which ``tools/catalogue.py`` writes from the distributions themselves: the core
has no other knowledge of them.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files

from diffloom.plugins.kinds import Kind


@cache
def _published() -> dict[str, dict[str, list[str]]]:
    """Return the names of each distribution by the plural of their kind."""
    found: dict[str, dict[str, list[str]]] = json.loads(
        files("diffloom.plugins").joinpath("catalogue.json").read_text(encoding="utf-8")
    )
    return found


@cache
def published_distributions() -> frozenset[str]:
    """Return the names of the published distributions. They load before all others, so nobody can take their names."""
    return frozenset(_published())


def distribution_of(kind: Kind, name: str) -> str | None:
    """Return the distribution to install for the thing called ``name``, or None if no published one has it."""
    for distribution, names in _published().items():
        if name in names.get(kind.plural, ()):
            return distribution
    return None


def published_names(kind: Kind) -> tuple[str, ...]:
    """Return the names of all published things of a kind, sorted."""
    return tuple(sorted(name for names in _published().values() for name in names.get(kind.plural, ())))
