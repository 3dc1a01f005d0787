"""A target with masks, tracks and confidence."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray

from diffloom.interfaces import InputError
from diffloom.plugins import get_segmenter
from diffloom_fitting.accepting import instance
from diffloom_fitting.segmentation.confidence import confidence, cut_off, doubled
from diffloom_fitting.segmentation.segmenter import Segmenter
from diffloom_fitting.targets.target import Target
from diffloom_fitting.targets.tracks import Ruler, measured_across, tracks_of


def segment(target: Target, segmenter: Segmenter | str, ruler: Ruler = "area") -> Target:
    """``target`` with masks, tracks of them, and how far each frame can be believed.

    segmenter: such as ``BackgroundPlate()``, or the name of a registered one. ruler: what the tracks' radii are
    measured by, the "area" or the width "across" the motion (``measured_across``). InputError where no
    frame shows an object.
    """
    chosen = instance("segmenter", segmenter, Segmenter, get_segmenter)  # type: ignore[type-abstract]
    if target.frames is None:
        raise InputError("segmenter: this target has no frames; read a video")
    video = target.frames[..., :3].to(torch.float32).numpy()
    mattes = np.clip(np.asarray(chosen.mattes(video), np.float32), 0.0, 1.0)
    if mattes.shape != video.shape[:3]:
        raise InputError(
            f"segmenter {type(chosen).__name__}: it gives mattes of shape {mattes.shape}; expected {video.shape[:3]}"
        )
    if not mattes.any():
        raise InputError(
            f"segmenter {type(chosen).__name__}: no frame shows an object; try another segmenter, a lower threshold, "
            "or give masks"
        )
    return with_masks(target, mattes, doubled(video, mattes), ruler)


def with_masks(
    target: Target, mattes: NDArray[np.float32], repeated: NDArray[np.bool_] | None = None, ruler: Ruler = "area"
) -> Target:
    """The target with these masks. repeated: frames that are the one before once more, which tell nothing new. ruler:
    of the tracks' radii."""
    belief = confidence(mattes)
    if repeated is not None:
        belief = np.where(repeated, 0.0, belief)
    dtype = torch.float32 if target.frames is None else target.frames.dtype
    tracks, across = tracks_of(mattes, np.where(cut_off(mattes), 0.0, belief)), None
    if ruler == "across":
        tracks, across = measured_across(mattes, tracks)
    return replace(
        target, masks=torch.from_numpy(mattes).to(dtype), tracks=tracks.to(dtype),
        confidence=torch.from_numpy(belief).to(dtype), across=across,
    )  # fmt: skip
