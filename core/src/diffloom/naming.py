"""Names with a dot: parameters of parts of a model, such as ``ball.mass``."""

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
    """Values whose names begin with ``name.``, without that."""
    prefix = f"{name}."
    return {key.removeprefix(prefix): value for key, value in values.items() if key.startswith(prefix)}


def prefix_spec(name: str, spec: ParamSpec) -> ParamSpec:
    """A part's spec under the name it has in the whole, axes included."""
    return replace(
        spec,
        name=f"{name}.{spec.name}",
        replaces=None if spec.replaces is None else f"{name}.{spec.replaces}",
        not_to_be_confused=tuple((f"{name}.{other}", why) for other, why in spec.not_to_be_confused),
        shape=tuple(f"{name}.{axis}" if isinstance(axis, str) else axis for axis in spec.shape),
    )


def check_name(what: str, name: object) -> str:
    """``name`` if a part may be called so; what: the parts, such as "terms"."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InputError(f"{what}: got the name {name!r}; expected lower case letters, digits and _, such as 'ball'")
    return name
