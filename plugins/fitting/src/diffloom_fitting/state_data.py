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
            kept = [f.name for f in fields(kind) if f.metadata.get("kept", True)]
            return {"kind": name, "fields": {field: to_data(getattr(value, field)) for field in kept}}
    if isinstance(value, Tensor):
        return value.detach().clone()
    if isinstance(value, dict):
        return {"kind": "dict", "items": {key: to_data(item) for key, item in value.items()}}
    if isinstance(value, (tuple, list)):
        return {"kind": type(value).__name__, "items": [to_data(item) for item in value]}
    if isinstance(value, PLAIN):
        return value
    raise TypeError(f"a checkpoint cannot hold {type(value).__name__}")


def check_state(found: Any) -> FitState:
    """``found`` if it is a fit's state with fields of the right kinds; TypeError otherwise."""
    if not isinstance(found, FitState):
        raise TypeError(f"it holds {type(found).__name__}")
    for name, kind in _FIELDS.items():
        if not isinstance(getattr(found, name), kind):
            raise TypeError(f"{name} is {type(getattr(found, name)).__name__}")
    if found.z.dim() != 1 or not found.z.is_floating_point():
        raise TypeError(f"z is {found.z.dtype} of shape {tuple(found.z.shape)}")
    if not all(isinstance(outcome, Outcome) for outcome in found.outcomes):
        raise TypeError("outcomes hold something else")
    if min(found.task, found.stage, found.total, found.iteration + 1) < 0:
        raise TypeError("it counts below 0")
    return found


_FIELDS: dict[str, Any] = {
    "z": Tensor, "task": int, "stage": int, "iteration": int, "total": int, "progress": (Progress, type(None)),
    "settings": (tuple, type(None)), "losses": tuple, "best": (tuple, type(None)), "outcomes": tuple, "seconds": tuple,
    "note": str, "finished": bool,
}  # fmt: skip


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
