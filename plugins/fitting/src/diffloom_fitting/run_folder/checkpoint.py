"""Checkpoints: the state after each iteration, so that a fit goes on to the same bits."""

from __future__ import annotations

import io
import pickle
from pathlib import Path

import torch

from diffloom_fitting.loop import FitState
from diffloom_fitting.run_folder.state_data import from_data, to_data
from diffloom_fitting.run_folder.writing import FolderError, write_bytes


def write_checkpoint(path: Path, state: FitState) -> None:
    """Write the state; the former checkpoint stays whole until this one is."""
    buffer = io.BytesIO()
    torch.save(to_data(state), buffer)
    write_bytes(path, buffer.getvalue())


def read_checkpoint(path: Path) -> FitState:
    """The state in a checkpoint; FolderError when there is none or it is damaged."""
    if not path.exists():
        raise FolderError(
            f"{str(path.parent)!r} holds no checkpoint to go on from; start it again with "
            f"diffloom run FILE --out {path.parent}"
        )
    try:
        found = from_data(torch.load(path, weights_only=True))
    except (OSError, EOFError, RuntimeError, pickle.UnpicklingError, KeyError, TypeError) as error:
        raise FolderError(f"checkpoint {str(path)!r} is damaged; run without --resume") from error
    if not isinstance(found, FitState):
        raise FolderError(f"checkpoint {str(path)!r} is not a fit's; run without --resume")
    return found
