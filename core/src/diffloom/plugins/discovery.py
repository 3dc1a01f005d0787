"""Find the installed plugins: the entry points of the group ``diffloom``."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import EntryPoint, PackageNotFoundError, entry_points, version

from diffloom.plugins.catalogue import published_distributions
from diffloom.plugins.entry import Origin
from diffloom.plugins.hookspecs import ENTRY_POINT_GROUP
from diffloom.plugins.selection import normalized


@dataclass(frozen=True)
class Candidate:
    """A plugin that is installed and not yet imported."""

    origin: Origin
    load: Callable[[], object]


def discover() -> list[Candidate]:
    """All installed plugins, in the order in which they load: the project's own first, then by name."""
    candidates = [_candidate(point) for point in entry_points(group=ENTRY_POINT_GROUP)]
    return sorted(candidates, key=_order)


def core_version() -> str:
    """The version of diffloom-core, or "unknown" when it runs from a folder that is not installed."""
    try:
        return version("diffloom-core")
    except PackageNotFoundError:
        return "unknown"


def _candidate(point: EntryPoint) -> Candidate:
    found = point.dist
    distribution = found.metadata["Name"] if found is not None else point.value
    release = found.version if found is not None else "unknown"
    return Candidate(Origin(point.name, distribution, release), point.load)


def _order(candidate: Candidate) -> tuple[bool, str, str]:
    origin = candidate.origin
    return normalized(origin.distribution) not in published_distributions(), origin.plugin, origin.distribution
