"""Tracks: position and size of the object's image in each frame."""

from __future__ import annotations

from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

COLUMNS = ("column", "row", "radius", "weight")
#: Measure of the radii of tracks.
Ruler = Literal["area", "across"]


def measure_tracks(mattes: NDArray[np.float32], weight: NDArray[np.float64]) -> Tensor:
    """Measure centroids and radii of mattes (frames, height, width).

    Returns:
        (frames, 4): column and row of the centroid [px] (the centre of the first pixel is at 0.5), radius of the disc
        of equal area [px], and weight, 0 without an object.
    """
    height, width = mattes.shape[1:]
    area = mattes.sum((1, 2)).astype(np.float64)
    safe = np.maximum(area, 1e-9)
    column = (mattes.sum(1) @ (np.arange(width) + 0.5)) / safe
    row = (mattes.sum(2) @ (np.arange(height) + 0.5)) / safe
    return torch.from_numpy(np.stack([column, row, np.sqrt(area / np.pi), np.where(area > 0.0, weight, 0.0)], axis=1))


def measure_across_motion(mattes: NDArray[np.float32], tracks: Tensor) -> tuple[Tensor, tuple[float, float]]:
    """Measure radii across the line of largest motion, which blur along it does not change.

    A radius is twice the standard deviation of a matte across the line, which is exact for a disc.

    Returns:
        The tracks with these radii, and the direction (right, down) across the line.
    """
    table = tracks.double().numpy().copy()
    _, axes = np.linalg.eigh(np.cov(table[:, :2].T, aweights=table[:, 3] + 1e-12))
    across = axes[:, 0]
    for k, matte in enumerate(mattes):
        rows, columns = np.nonzero(matte)
        share = matte[rows, columns].astype(np.float64)
        apart = (columns + 0.5 - table[k, 0]) * across[0] + (rows + 0.5 - table[k, 1]) * across[1]
        table[k, 2] = 2.0 * np.sqrt((share * apart**2).sum() / max(float(share.sum()), 1e-9))
    return torch.from_numpy(table), (float(across[0]), float(across[1]))
