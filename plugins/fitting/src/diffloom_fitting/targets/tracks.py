"""Tracks: where the object's image is in each frame, and how large."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

COLUMNS = ("column", "row", "radius", "weight")


def tracks_of(mattes: NDArray[np.float32], weight: NDArray[np.float64]) -> Tensor:
    """(frames, 4), of mattes (frames, height, width): column and row of the centroid [px] (the centre of the first
    pixel is at 0.5), the radius of a disc of the same area [px], and the weight of each frame, 0 where it is not
    seen."""
    height, width = mattes.shape[1:]
    area = mattes.sum((1, 2)).astype(np.float64)
    safe = np.maximum(area, 1e-9)
    column = (mattes.sum(1) @ (np.arange(width) + 0.5)) / safe
    row = (mattes.sum(2) @ (np.arange(height) + 0.5)) / safe
    return torch.from_numpy(np.stack([column, row, np.sqrt(area / np.pi), np.where(area > 0.0, weight, 0.0)], axis=1))
