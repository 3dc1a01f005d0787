"""A fit's state as plain data, and back: no code is stored, so opening somebody's run folder runs none."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from torch import Tensor

from diffloom_fitting.loop import FitState, Outcome
from diffloom_fitting.optimisers import Progress

KINDS = {"state": FitState, "progress": Progress, "outcome": Outcome}
PLAIN = (bool, int, float, str, bytes, type(None))


def to_data(value: Any) -> Any:
    """Dataclasses become marked dicts, tuples marked lists; tensors and numbers stay."""
    for name, kind in KINDS.items():
        if isinstance(value, kind):
            return {"kind": name, "fields": {f.name: to_data(getattr(value, f.name)) for f in fields(kind)}}
    if isinstance(value, Tensor):
        return value.detach().clone()
    if isinstance(value, dict):
        return {"kind": "dict", "items": {key: to_data(item) for key, item in value.items()}}
    if isinstance(value, (tuple, list)):
        return {"kind": type(value).__name__, "items": [to_data(item) for item in value]}
    if isinstance(value, PLAIN):
        return value
    raise TypeError(f"a checkpoint cannot hold {type(value).__name__}")


def from_data(value: Any) -> Any:
    """The inverse of `to_data`."""
    if not isinstance(value, dict):
        return value
    kind = value["kind"]
    if kind in KINDS:
        return KINDS[kind](**{name: from_data(item) for name, item in value["fields"].items()})
    if kind == "dict":
        return {key: from_data(item) for key, item in value["items"].items()}
    rows = [from_data(item) for item in value["items"]]
    return tuple(rows) if kind == "tuple" else rows
