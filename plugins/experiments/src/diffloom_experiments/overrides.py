"""Changes to a file's values from outside: `--set camera.size=[64,64]`, and its own [quick] table."""

from __future__ import annotations

import copy
import tomllib
from collections.abc import Mapping
from typing import Any

from diffloom.interfaces import InputError


def parse_setting(text: str) -> tuple[str, Any]:
    """("camera.size", [64, 64]) of "camera.size=[64,64]"; a value that is not TOML counts as a string."""
    key, sign, value = text.partition("=")
    if not sign or not key.strip():
        raise InputError(f"--set {text!r}: expected key=value, such as --set camera.size=[64,64]")
    try:
        parsed = tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        parsed = value.strip()
    return key.strip(), parsed


def override(raw: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of the file's data with values put in at dotted places; a number in a place counts rows of a list, and
    one beyond its end adds a row."""
    changed: dict[str, Any] = copy.deepcopy(dict(raw))
    for place, value in changes.items():
        _put(changed, place.split("."), value, place)
    return changed


def _put(at: Any, path: list[str], value: Any, place: str) -> None:
    for depth, key in enumerate(path[:-1]):
        where = ".".join(path[: depth + 1])
        if isinstance(at, list):
            at = at[_row(at, key, place)]
        elif isinstance(at, dict):
            at = at.setdefault(key, {})
        else:
            raise InputError(
                f"{place}: {where.rpartition('.')[0]} is {at!r}, not a table; nothing can be set inside it"
            )
    if isinstance(at, list) and path[-1] == str(len(at)):
        at.append(value)
    elif isinstance(at, list):
        at[_row(at, path[-1], place)] = value
    elif isinstance(at, dict):
        at[path[-1]] = value
    else:
        raise InputError(f"{place}: {'.'.join(path[:-1])} is {at!r}, not a table; nothing can be set inside it")


def _row(rows: list[Any], key: str, place: str) -> int:
    if not key.isdigit() or int(key) >= len(rows):
        raise InputError(f"{place}: got {key!r}; expected a number from 0 to {len(rows) - 1}, it counts rows of a list")
    return int(key)
