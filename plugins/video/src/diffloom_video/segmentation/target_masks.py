"""A target with masks, tracks and confidence."""

from __future__ import annotations

import numpy as np
import torch

from diffloom.interfaces import InputError
from diffloom_fitting.targets.confidence import doubled
from diffloom_fitting.targets.masks import with_masks
from diffloom_fitting.targets.target import Target
from diffloom_fitting.targets.tracks import Ruler
from diffloom_fitting.validation import instance
from diffloom_video.kinds import get_segmenter
from diffloom_video.segmentation.segmenter import Segmenter


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
