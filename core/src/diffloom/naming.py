"""Dotted names of parameters of a model's parts, such as ``ball.mass``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from diffloom.interfaces import InputError, ParamSpec

__all__ = ["check_name", "prefix_spec", "select_part"]

Value = TypeVar("Value")
_NAME = re.compile(r"[a-z][a-z0-9_]*")


def select_part(name: str, values: Mapping[str, Value]) -> dict[str, Value]:
    """Return the values of one part, without its prefix.

    Args:
        name: Name of the part, such as "ball".
        values: Values by dotted name.

    Returns:
        Values whose names begin with ``name.``, by the rest of the name.
    """
    prefix = f"{name}."
    return {key.removeprefix(prefix): value for key, value in values.items() if key.startswith(prefix)}


def prefix_spec(name: str, spec: ParamSpec) -> ParamSpec:
    """Return the spec of a part's parameter under its dotted name, axes included.

    Args:
        name: Name of the part.
        spec: Spec inside the part.

    Returns:
        Spec called ``name.spec``.
    """
    return replace(
        spec,
        name=f"{name}.{spec.name}",
        replaces=None if spec.replaces is None else f"{name}.{spec.replaces}",
        not_to_be_confused=tuple((f"{name}.{other}", why) for other, why in spec.not_to_be_confused),
        shape=tuple(f"{name}.{axis}" if isinstance(axis, str) else axis for axis in spec.shape),
    )


def check_name(what: str, name: object) -> str:
    """Return ``name`` if it is a valid name of a part.

    Args:
        what: Kind of the parts in messages, such as "terms".
        name: Name to check.

    Returns:
        The name.

    Raises:
        InputError: The name has characters other than lower case letters, digits and _.
    """
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InputError(f"{what}: got the name {name!r}; expected lower case letters, digits and _, such as 'ball'")
    return name
