"""Masks of a target, with the tracks and confidence that follow from them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from diffloom_fitting.targets.confidence import confidence, cut_off
from diffloom_fitting.targets.tracks import Ruler, measure_across_motion, measure_tracks

if TYPE_CHECKING:
    from diffloom_fitting.targets.target import Target


def with_masks(
    target: Target, mattes: NDArray[np.float32], repeated: NDArray[np.bool_] | None = None, ruler: Ruler = "area"
) -> Target:
    """Add masks to a target, with tracks and confidence.

    Args:
        target: The target.
        mattes: (frames, height, width) in 0..1.
        repeated: (frames,), frames that repeat the one before and so get no weight.
        ruler: Measure of the tracks' radii, "area" or "across".

    Returns:
        The target with masks, tracks and confidence.
    """
    belief = confidence(mattes)
    if repeated is not None:
        belief = np.where(repeated, 0.0, belief)
    dtype = torch.float32 if target.frames is None else target.frames.dtype
    tracks, across = measure_tracks(mattes, np.where(cut_off(mattes), 0.0, belief)), None
    if ruler == "across":
        tracks, across = measure_across_motion(mattes, tracks)
    return replace(
        target, masks=torch.from_numpy(mattes).to(dtype), tracks=tracks.to(dtype),
        confidence=torch.from_numpy(belief).to(dtype), across=across,
    )  # fmt: skip
