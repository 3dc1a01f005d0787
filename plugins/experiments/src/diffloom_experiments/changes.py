"""Experiment files as plain data: reading TOML, variants, and changes such as `--set camera.size=[64,64]`.

The module does not import torch.
"""

from __future__ import annotations

import copy
import tomllib
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from diffloom.errors import InputError
from diffloom.regular_files import check_texts, read_text

__all__ = ["collect_changes", "override", "put_variants", "read_experiment", "read_toml", "take_variants"]

#: Largest experiment file that is read [bytes].
MOST_BYTES = 16 * 2**20


def read_toml(place: Path) -> dict[str, Any]:
    """Return the tables of a TOML file.

    Args:
        place: Path of the file, of at most 16 MB.

    Returns:
        Tables as dictionaries.

    Raises:
        InputError: The file is absent, too large, unreadable or not valid TOML, or a text holds control characters.
    """
    text = read_experiment(place)
    try:
        data = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(f"{place.name}: this is not valid TOML: {error}") from error
    check_texts(place.name, data)
    return data


def read_experiment(place: str | Path) -> str:
    """Return the text of an experiment file.

    Args:
        place: Path of the file, of at most 16 MB.

    Returns:
        The text.

    Raises:
        InputError: The file is absent, too large or unreadable.
    """
    return read_text(place, MOST_BYTES, what="experiment")


def take_variants(data: dict[str, Any], name: str) -> dict[str, Mapping[str, Any]]:
    """Remove the [variants.*] tables from a file's data, and return them.

    Args:
        data: Tables of the file; changed in place.
        name: Name of the file, for messages.

    Returns:
        Changes by the variant's name.
    """
    found = data.pop("variants", {})
    if not isinstance(found, Mapping):
        raise InputError(f"{name}: variants: got {found!r}; expected tables of changes such as [variants.quick]")
    for variant, changes in found.items():
        if not isinstance(changes, Mapping):
            given = f"{name}: variants.{variant}: got {changes!r}"
            raise InputError(f'{given}; expected a table such as {{"camera.size" = [64, 64]}}')
    return dict(found)


def put_variants(
    data: Mapping[str, Any], offered: Mapping[str, Mapping[str, Any]], quick: bool, variants: Sequence[str]
) -> dict[str, Any]:
    """Return a file's data with some of its variants applied, the one called "quick" first.

    Args:
        data: Tables of the file without variants.
        offered: Variants of the file by name.
        quick: True to apply "quick"; a warning says so if the file has none.
        variants: Names of further variants, in this order.

    Returns:
        Changed copy of the data.
    """
    for variant in (*(["quick"] if quick else []), *variants):
        data = override(data, _variant(offered, variant))
    return dict(data)


def _variant(offered: Mapping[str, Mapping[str, Any]], wanted: str) -> Mapping[str, Any]:
    """Return one of a file's variants; for an absent "quick", no changes and a warning."""
    from diffloom.validation import suggest_name

    if wanted not in offered and wanted == "quick":
        warnings.warn("the file has no [variants.quick], so --quick changes nothing", stacklevel=5)
    elif wanted not in offered:
        there = ", ".join(offered) or "none"
        raise InputError(
            f"variants: got {wanted!r}; expected one of the file's own, {there}{suggest_name(wanted, offered)}"
        )
    return offered.get(wanted, {})


def collect_changes(settings: Sequence[str], changes: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return changes by dotted key.

    Args:
        settings: Texts such as "camera.size=[64,64]".
        changes: Values by dotted key; they win over ``settings``.

    Returns:
        Values by dotted key.
    """
    return {**dict(parse_setting(text) for text in settings), **dict(changes or {})}


def parse_setting(text: str) -> tuple[str, Any]:
    """Return key and value of a text such as "camera.size=[64,64]"; a value that is not TOML is a string."""
    key, sign, value = text.partition("=")
    if not sign or not key.strip():
        raise InputError(f"--set {text!r}: expected key=value, such as --set camera.size=[64,64]")
    try:
        parsed = tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        parsed = value.strip()
    return key.strip(), parsed


def override(raw: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of a file's data with changed values.

    Args:
        raw: Tables of the file.
        changes: Values by dotted key. A number in a key selects a row of a list; the number after the last adds a row.

    Returns:
        Changed copy.

    Raises:
        InputError: A key leads through a value that is not a table, or to a row that does not exist.
    """
    changed: dict[str, Any] = copy.deepcopy(dict(raw))
    for place, value in changes.items():
        _put(changed, place.split("."), value, place)
    return changed


def _put(at: Any, path: list[str], value: Any, place: str) -> None:
    """Set the value at a path inside nested tables and lists."""
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
    """Return the number of a row that exists in a list."""
    if not key.isdigit() or int(key) >= len(rows):
        raise InputError(f"{place}: got {key!r}; expected the number of a row, from 0 to {len(rows) - 1}")
    return int(key)
