"""Names that experiment files had before: they still work, with a warning that says the new one."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from diffloom.deprecation import warn_renamed

#: New place by old, of tables and keys. Rows of [[views]] have a target too.
RENAMED = {
    "look": "appearance",
    "quick": "variants.quick",
    "foreign": "variants.cross_renderer",
    "target.film": "target.video",
    "target.frames.held": "target.frames.holdout",
    "target.frames.held_limit": "target.frames.holdout_limit",
    "starts.spread": "starts.scatter",
    "unknowns.look": "unknowns.appearance",
    "truth.look": "truth.appearance",
}
#: Names of unknowns that have a dot in them.
_QUOTED = {"look.colour": "appearance.colour"}
_PATTERNS = {"plain": "uniform"}


def present_place(name: str, place: str) -> str:
    """A dotted place such as "target.film" as it is called now. name: of the file, for the warning."""
    parts = place.split(".")
    row = 2 if parts[0] == "views" and len(parts) > 2 else 0
    rest = ".".join(parts[row:])
    for old, new in RENAMED.items():
        if rest == old or rest.startswith(f"{old}."):
            warn_renamed(name, old, new)
            return ".".join([*parts[:row], new + rest[len(old) :]])
    return place


def with_present_names(name: str, raw: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of a file's data with old tables and keys moved to where they are now."""
    data = copy.deepcopy(dict(raw))
    views = data.get("views")
    for table in (data, *(views if isinstance(views, list) else [])):
        for old, new in RENAMED.items():
            _move(name, table, old.split("."), new.split("."))
    for table in ("unknowns", "truth"):
        for old, new in _QUOTED.items():
            _move(name, data.get(table), [old], [new])
    for variant in data["variants"].values() if isinstance(data.get("variants"), dict) else ():
        for place in list(variant) if isinstance(variant, dict) else ():
            _move(name, variant, [place], [present_place(name, place)])
    shown = data.get("appearance")
    if isinstance(shown, dict) and shown.get("pattern") in _PATTERNS:
        old, shown["pattern"] = shown["pattern"], _PATTERNS[shown["pattern"]]
        warn_renamed(name, f"appearance.pattern = {old}", shown["pattern"])
    return data


def _move(name: str, table: Any, old: list[str], new: list[str]) -> None:
    """Move what is at the path ``old``, if anything, to ``new``; what is there already stays."""
    source = table
    for part in old[:-1]:
        source = source.get(part) if isinstance(source, dict) else None
    if old == new or not isinstance(source, dict) or old[-1] not in source:
        return
    warn_renamed(name, ".".join(old), ".".join(new), depth=5)
    value = source.pop(old[-1])
    for part in new[:-1]:
        table = table.setdefault(part, {})
    table.setdefault(new[-1], value)
