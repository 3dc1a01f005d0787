"""Motion: the object is what differs from the frames before and after."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from diffloom.interfaces import InputError
from diffloom_fitting.validation import whole
from diffloom_video.segmentation.mattes import Cleaning, cleaning_of
from diffloom_video.segmentation.plate import differences, rough_masks
from diffloom_video.segmentation.segmenter import Segmenter, Video


@dataclass(frozen=True)
class Motion(Segmenter):
    """What differs from a frame ``gap`` frames earlier and from one as much later, for a background whose light
    changes. The object must move by more than its size in that time, at least at its edges; an object that rests is
    not found. threshold, shadows: as of BackgroundPlate."""

    gap: int = 6
    threshold: float | None = None
    shadows: bool = True
    cleaning: Cleaning = field(default_factory=Cleaning)

    def __post_init__(self) -> None:
        object.__setattr__(self, "cleaning", cleaning_of(self.cleaning))

    def mattes(self, video: Video) -> NDArray[np.float32]:
        gap, count = whole("segmenter 'motion': gap", self.gap, 1), len(video)
        if count <= gap:
            raise InputError(f"segmenter 'motion': got {count} frames; expected more than gap={gap}")
        apart = np.stack(
            [
                np.minimum(*(differences(video[k], video[other], self.shadows) for other in _others(k, gap, count)))
                for k in range(count)
            ]
        )
        rough = rough_masks(apart, self.threshold)
        return np.stack([self.cleaning.matte(*pair, None) for pair in zip(video, rough, strict=True)])


def _others(number: int, gap: int, count: int) -> tuple[int, int]:
    """The frames to compare with: earlier and later, or two on the same side at the ends."""
    if number < gap:
        return number + gap, min(number + 2 * gap, count - 1)
    if number + gap >= count:
        return number - gap, max(number - 2 * gap, 0)
    return number - gap, number + gap
