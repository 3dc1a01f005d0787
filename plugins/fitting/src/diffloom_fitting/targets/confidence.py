"""Confidence in the mask of each frame."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import scipy
import torch
from numpy.typing import NDArray

from diffloom.interfaces import InputError
from diffloom_fitting.targets.target import Target

Video = NDArray[np.float32]
"""(frames, height, width, 3) in 0..1; mattes have no channels."""

#: Frames on either side for the usual area of a mask, and log ratio of areas that halves the confidence.
WINDOW, JUMP = 7, 0.35


def confidence(mattes: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the confidence (frames,) in 0..1.

    It is 0 without an object, low if the area is unlike that of the frames around, and low for several pieces.
    """
    area = mattes.sum((1, 2)).astype(np.float64)
    found = area > 0.0
    if not found.any():
        return np.zeros(len(mattes))
    usual = np.array([np.median(_around(area, found, k)) for k in range(len(area))])
    jump = np.log(np.where(found, area, 1.0) / np.maximum(usual, 1e-9)) / JUMP
    rivals = np.array([_largest_share(matte > 0.5) for matte in mattes])
    return np.asarray(np.where(found, np.exp2(-(jump**2)) * rivals, 0.0))


def _around(area: NDArray[np.float64], found: NDArray[np.bool_], number: int) -> NDArray[np.float64]:
    near = slice(max(0, number - WINDOW), number + WINDOW + 1)
    own = area[near][found[near]]
    return own if len(own) else area[found]


def _largest_share(mask: NDArray[np.bool_]) -> float:
    labels, count = scipy.ndimage.label(mask)
    if count == 0:
        return 0.0
    sizes = np.bincount(labels.ravel())[1:]
    return float(sizes.max() / sizes.sum())


def cut_off(mattes: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Return true for frames (frames,) in which the object touches the border of the image."""
    edges = [mattes[:, 0], mattes[:, -1], mattes[:, :, 0], mattes[:, :, -1]]
    return np.asarray(np.any([(edge > 0.25).any(1) for edge in edges], axis=0))


def without_repeats(target: Target, rate: float | None = None) -> Target:
    """Remove frames that repeat the one before.

    Args:
        target: Target with frames and masks.
        rate: Frames per second of the remaining frames, if repeats were inserted by mistake; None keeps their times,
            for repeats that fill gaps.

    Returns:
        The target without repeats.
    """
    if target.frames is None or target.masks is None:
        raise InputError(
            "target.repeats: finding repeated frames needs masks; segment the video (target.segment) or give masks"
        )
    video, mattes = target.frames[..., :3].to(torch.float32).numpy(), target.masks.to(torch.float32).numpy()
    left = target.select(np.flatnonzero(~find_repeats(video, mattes)).tolist())
    return left if rate is None else replace(left, times=torch.arange(len(left)).double() / rate)


def find_repeats(video: Video, mattes: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Find frames that repeat the one before while the object moves.

    Args:
        video: (frames, height, width, 3) in 0..1.
        mattes: (frames, height, width).

    Returns:
        (frames,), true for repeats.
    """
    found = np.zeros(len(video), bool)
    if len(video) < 3:
        return found
    change = np.array([np.abs(b - a).mean() for a, b in pairwise(video)])
    moving = np.array([np.abs(b - a).sum() for a, b in pairwise(mattes)])
    around = [slice(max(0, k - 3), k + 4) for k in range(len(moving))]
    found[1:] = [
        change[k] < 0.3 * change[near].max() and moving[k] < 0.1 * moving[near].max() for k, near in enumerate(around)
    ]
    return found
