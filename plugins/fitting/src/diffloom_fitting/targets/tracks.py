"""Tracks: where the object's image is in each frame, and how large."""

from __future__ import annotations

from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

COLUMNS = ("column", "row", "radius", "weight")
Rows = NDArray[np.float64]
Ruler = Literal["area", "across"]


def tracks_of(mattes: NDArray[np.float32], weight: Rows, ruler: Ruler = "area") -> Tensor:
    """(frames, 4), of mattes (frames, height, width): column and row of the centroid [px] (the centre of the first
    pixel is at 0.5), the radius [px], and the weight of each frame, 0 where it is not seen.

    ruler: the radius is that of a disc of the same "area"; or of a disc that is as wide "across" the line along which
    the object moves most, for balls: blur and shadows make a matte longer along that line, not wider.
    """
    height, width = mattes.shape[1:]
    area = mattes.sum((1, 2)).astype(np.float64)
    safe = np.maximum(area, 1e-9)
    column = (mattes.sum(1) @ (np.arange(width) + 0.5)) / safe
    row = (mattes.sum(2) @ (np.arange(height) + 0.5)) / safe
    weight = np.where(area > 0.0, weight, 0.0)
    radius = np.sqrt(area / np.pi)
    if ruler == "across":
        radius = np.where(area > 0.0, _radii_across(mattes, np.stack([column, row]), weight), radius)
    return torch.from_numpy(np.stack([column, row, radius, weight], axis=1))


def _radii_across(mattes: NDArray[np.float32], places: Rows, weight: Rows) -> Rows:
    """(frames,) [px]: twice the standard deviation of each matte across the line that fits the places (2, frames) best,
    which for a disc is its radius, however far it is smeared along the line."""
    _, axes = np.linalg.eigh(np.cov(places, aweights=weight + 1e-12))
    across = axes[:, 0]
    found = np.zeros(len(mattes))
    for k, matte in enumerate(mattes):
        rows, columns = np.nonzero(matte)
        share = matte[rows, columns].astype(np.float64)
        apart = across @ (np.stack([columns, rows]) + 0.5 - places[:, k : k + 1])
        found[k] = 2.0 * np.sqrt((share * apart**2).sum() / max(float(share.sum()), 1e-9))
    return found
