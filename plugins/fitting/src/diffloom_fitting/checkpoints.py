"""Checkpoints of a fit in a run folder: its state as plain data, and its history, a line of JSON per iteration.

No code is stored, so opening a run folder from an unknown source runs none.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from torch import Tensor

from diffloom.regular_files import append_text, read_bytes
from diffloom_fitting.files import FolderError, explain_errors, write_text
from diffloom_fitting.loop import FitState, Record, StartOutcome
from diffloom_fitting.optimisers import Progress

__all__ = ["append_record", "check_state", "decode_state", "encode_state", "read_history", "rewrite_history"]

KINDS = {"state": FitState, "progress": Progress, "outcome": StartOutcome}
PLAIN = (bool, int, float, str, bytes, type(None))
VERSION = 1
#: Largest history that is read [bytes].
MOST_BYTES = 2**30


def encode_state(value: Any) -> Any:
    """Convert a state to plain data: dataclasses become marked dicts, tuples marked lists; tensors and numbers stay.

    Args:
        value: A `FitState`, or a part of one.

    Returns:
        Data that torch.save stores without code.

    Raises:
        TypeError: The state contains an object of another kind.
    """
    for name, kind in KINDS.items():
        if isinstance(value, kind):
            kept = [f.name for f in fields(kind) if f.metadata.get("kept", True)]
            return {"kind": name, "fields": {field: encode_state(getattr(value, field)) for field in kept}}
    if isinstance(value, Tensor):
        return value.detach().clone()
    if isinstance(value, dict):
        return {"kind": "dict", "items": {key: encode_state(item) for key, item in value.items()}}
    if isinstance(value, (tuple, list)):
        return {"kind": type(value).__name__, "items": [encode_state(item) for item in value]}
    if isinstance(value, PLAIN):
        return value
    raise TypeError(f"a checkpoint cannot hold {type(value).__name__}")


def check_state(found: Any) -> FitState:
    """Return a decoded state if its fields have the right kinds.

    Args:
        found: The decoded object.

    Returns:
        The state.

    Raises:
        TypeError: It is no state of a fit.
    """
    if not isinstance(found, FitState):
        raise TypeError(f"it holds {type(found).__name__}")
    for name, kind in _FIELDS.items():
        if not isinstance(getattr(found, name), kind):
            raise TypeError(f"{name} is {type(getattr(found, name)).__name__}")
    if found.z.dim() != 1 or not found.z.is_floating_point():
        raise TypeError(f"z is {found.z.dtype} of shape {tuple(found.z.shape)}")
    if not all(isinstance(outcome, StartOutcome) for outcome in found.outcomes):
        raise TypeError("outcomes hold something else")
    if min(found.task, found.stage, found.total, found.iteration + 1) < 0:
        raise TypeError("it counts below 0")
    return found


_FIELDS: dict[str, Any] = {
    "z": Tensor, "task": int, "stage": int, "iteration": int, "total": int, "progress": (Progress, type(None)),
    "settings": (tuple, type(None)), "losses": tuple, "best": (tuple, type(None)), "outcomes": tuple, "seconds": tuple,
    "note": str, "finished": bool,
}  # fmt: skip


def decode_state(value: Any) -> Any:
    """Invert `encode_state`.

    Args:
        value: Plain data.

    Returns:
        The state.
    """
    if not isinstance(value, dict):
        return value
    kind = value["kind"]
    if kind in KINDS:
        return KINDS[kind](**{name: decode_state(item) for name, item in value["fields"].items()})
    if kind == "dict":
        return {key: decode_state(item) for key, item in value["items"].items()}
    rows = [decode_state(item) for item in value["items"]]
    return tuple(rows) if kind == "tuple" else rows


def append_record(path: Path, record: Record) -> None:
    """Append a record to a history, in one write.

    Args:
        path: The history.
        record: The record.
    """
    with explain_errors(path):
        append_text(path, _line(record))


def read_history(path: Path, total: int | None = None) -> list[Record]:
    """Read the records of a history.

    Args:
        path: The history.
        total: Last record to read; None reads all.

    Returns:
        The records, without a last line that a crash cut off.

    Raises:
        FolderError: The history is damaged elsewhere, or too large.
    """
    if not os.path.lexists(path):
        return []
    content = read_bytes(path, MOST_BYTES, what="history", follow=False, error=FolderError)
    text = content.decode("utf-8", errors="replace")
    lines = text.split("\n")
    records: list[Record] = []
    for number, line in enumerate(lines[:-1], start=1):  # text after the last line break is empty or was cut off
        record = _record(line)
        if isinstance(record, str):
            if number == len(lines) - 1 and total is not None and len(records) >= total:
                break  # the last line, of an iteration after the last checkpoint
            raise FolderError(
                f"history {str(path)!r}, line {number}: {record}; remove the line to resume without that iteration, "
                "or run the experiment again, with another --out"
            )
        if total is not None and record.total > total:
            break
        records.append(record)
    return records


def rewrite_history(path: Path, records: list[Record]) -> None:
    """Replace a history.

    Args:
        path: The history.
        records: Its new records.
    """
    write_text(path, "".join(map(_line, records)))


def _line(record: Record) -> str:
    data = {"version": VERSION, **asdict(record)}
    return json.dumps({**data, "checksum": _checksum(data)}) + "\n"


def _record(line: str) -> Record | str:
    """Return the record in a line, or a sentence on its damage."""
    try:
        data = json.loads(line)
        told = data.pop("checksum")
    except (ValueError, AttributeError, KeyError, TypeError, RecursionError):
        return "it is damaged"
    if data.get("version") != VERSION:
        return f"it is of version {data.get('version')!r}, and this diffloom reads version {VERSION}"
    if told != _checksum(data):
        return "it is damaged: its checksum is wrong"
    names = {f.name for f in fields(Record)}
    try:
        record = Record(**{k: v for k, v in data.items() if k in names})
    except TypeError as error:
        return f"it is no record of an iteration ({error})"
    wrong = [name for name, kind in _KINDS.items() if not isinstance(getattr(record, name), kind)]
    return f"{wrong[0]} is {getattr(record, wrong[0])!r}" if wrong else record


_KINDS: dict[str, Any] = {
    "total": int, "start": int, "stage": int, "optimiser": str, "iteration": int, "loss": (int, float), "values": dict,
    "gradient": (int, float, type(None)), "seconds": (int, float), "evaluations": int, "rejected": int,
    "horizon": (int, float), "renderer": dict, "note": str,
}  # fmt: skip


def _checksum(data: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:16]
