"""Frames as one image, side by side or in rows."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from diffloom.interfaces import InputError
from diffloom_fitting.file_writing import explained, write_bytes


def write_frames(path: str | Path, frames: Tensor, columns: int | None = None, rows: int | None = None) -> Path:
    """Write frames (frames, height, width, 3 or 4), 0..1, as one PNG, row by row; returns its path.

    columns: in a row, all of them unless given; rows: instead of columns.
    """
    if not isinstance(frames, Tensor) or frames.dim() != 4 or frames.shape[-1] not in (3, 4) or not len(frames):
        got = tuple(frames.shape) if isinstance(frames, Tensor) else type(frames).__name__
        raise InputError(f"write_frames: got {got}; expected a tensor (frames, height, width, 3 or 4) of 0..1")
    count, height, width, _ = frames.shape
    wide = columns or (-(-count // rows) if rows else count)
    high = -(-count // wide)
    tiles = np.zeros((high * wide, height, width, 3), dtype=np.uint8)
    tiles[:count] = (frames[..., :3].detach().clamp(0.0, 1.0) * 255.0).round().to(torch.uint8).numpy()
    sheet = tiles.reshape(high, wide, height, width, 3).transpose(0, 2, 1, 3, 4).reshape(high * height, wide * width, 3)
    buffer = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(sheet)).save(buffer, format="PNG", optimize=True)
    place = Path(path)
    with explained(place):
        place.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(place, buffer.getvalue())
    return place
