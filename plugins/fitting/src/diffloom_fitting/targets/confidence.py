"""How far a frame's mask can be believed."""

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

#: Frames on either side with which a mask's area is compared, and the logarithm of the area that halves belief.
WINDOW, JUMP = 7, 0.35


def confidence(mattes: NDArray[np.float32]) -> NDArray[np.float64]:
    """(frames,) in 0..1: 0 where there is no object, low where its area is unlike that of the frames around or where
    there is more than one piece."""
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
    """(frames,): whether the object reaches the border of the image, beyond which there may be more of it."""
    edges = [mattes[:, 0], mattes[:, -1], mattes[:, :, 0], mattes[:, :, -1]]
    return np.asarray(np.any([(edge > 0.25).any(1) for edge in edges], axis=0))


def without_repeats(target: Target, rate: float | None = None) -> Target:
    """The target without frames that repeat the one before. rate: frames per second of those that are left, where
    repeats were put in by mistake; None keeps their times, right where repeats fill gaps."""
    if target.frames is None or target.masks is None:
        raise InputError("target.repeats: frames that repeat are told by masks; segment the video or give masks")
    video, mattes = target.frames[..., :3].to(torch.float32).numpy(), target.masks.to(torch.float32).numpy()
    left = target.select(np.flatnonzero(~find_repeats(video, mattes)).tolist())
    return left if rate is None else replace(left, times=torch.arange(len(left)).double() / rate)


def find_repeats(video: Video, mattes: NDArray[np.float32]) -> NDArray[np.bool_]:
    """(frames,): whether a frame is the one before once more, while the frames around it move."""
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
