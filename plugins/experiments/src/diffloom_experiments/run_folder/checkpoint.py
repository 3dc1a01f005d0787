"""Checkpoints: the state after each iteration, so that a fit goes on to the same bits. The last two are kept."""

from __future__ import annotations

import hashlib
import io
import os
import re
from pathlib import Path

import torch

from diffloom_fitting.file_writing import FolderError, explained, new_file
from diffloom_fitting.loop import FitState
from diffloom_fitting.state_data import check_state, from_data, to_data

VERSION = 1
_HEAD = re.compile(rb"diffloom checkpoint (\d+) sha256 ([0-9a-f]{64})\n")
#: A state is a few vectors of unknowns: more than this is none [bytes].
MOST_BYTES = 2**31


def previous(path: Path) -> Path:
    """Where the checkpoint before ``path`` is kept."""
    return path.with_name(f"previous_{path.name}")


def write_checkpoint(path: Path, state: FitState) -> None:
    """Write the state; the former checkpoint becomes the previous one, and one of the two is whole at any time."""
    buffer = io.BytesIO()
    torch.save(to_data(state), buffer)
    content = buffer.getvalue()
    head = f"diffloom checkpoint {VERSION} sha256 {hashlib.sha256(content).hexdigest()}\n".encode()
    with new_file(path) as beside:
        with beside.open("wb") as file:
            file.write(head + content)
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            os.replace(path, previous(path))


def read_checkpoint(path: Path) -> FitState | None:
    """The state in a checkpoint, or in the previous one where a crash left only that; None when there is neither.

    A damaged checkpoint is a FolderError that says whether the one before it can be used.
    """
    if not path.exists():
        return _read(previous(path)) if previous(path).exists() else None
    try:
        return _read(path)
    except FolderError as error:
        raise FolderError(f"{error}; {_instead(path)}") from error


def _instead(path: Path) -> str:
    """What to do about a damaged checkpoint."""
    before = previous(path)
    try:
        kept = _read(before)
    except FolderError:
        return "there is none before it that can be used: run the experiment again, with another --out"
    return (
        f"the one before it, of iteration {kept.total}, is whole: put it in its place with "
        f"`mv {before} {path}` and resume again"
    )


def _read(path: Path) -> FitState:
    what = f"checkpoint {str(path)!r}"
    with explained(path, "read"):
        if path.stat().st_size > MOST_BYTES:
            raise FolderError(f"{what} is larger than a fit's state can be")
        content = path.read_bytes()
    head = _HEAD.match(content)
    if head is None:
        raise FolderError(f"{what} is damaged, or not a fit's: it does not begin as one")
    if int(head[1]) != VERSION:
        raise FolderError(f"{what} is of version {int(head[1])}, and this diffloom reads version {VERSION}")
    payload = content[head.end() :]
    if hashlib.sha256(payload).hexdigest().encode() != head[2]:
        raise FolderError(f"{what} is damaged: its checksum does not hold")
    try:
        found = from_data(torch.load(io.BytesIO(payload), weights_only=True))
        return check_state(found)
    except Exception as error:  # whole, but made up by somebody: whatever it raises, it is no fit's state
        raise FolderError(f"{what} is not a fit's ({str(error)[:200] or type(error).__name__})") from error
