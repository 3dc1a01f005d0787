"""A colour key: the object is what has its colour."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from diffloom_fitting.validation import numbers, real
from diffloom_video.segmentation.mattes import Cleaning, Plane, cleaning_of
from diffloom_video.segmentation.segmenter import Segmenter, Video

#: How much brightness counts beside hue: light and shade move along it.
BRIGHTNESS = 0.3


def key_distance(image: Plane, colour: tuple[float, ...]) -> Plane:
    """(height, width): distance in rgb from ``colour`` scaled to each pixel's brightness, and a part of the difference
    in brightness."""
    key = np.asarray(colour, np.float32)
    along = image @ (key / np.linalg.norm(key))
    hue = image - along[..., None] * (key / np.linalg.norm(key))
    light = along - np.linalg.norm(key)
    return np.asarray(np.sqrt((hue**2).sum(-1) + (BRIGHTNESS * light) ** 2))


@dataclass(frozen=True)
class ColourKey(Segmenter):
    """What has a colour, for a camera that may move. colour: rgb in 0..1 of the object. tolerance: how far from it, a
    distance in rgb in which brightness counts little."""

    colour: tuple[float, float, float] = (0.0, 1.0, 0.0)
    tolerance: float = 0.15
    cleaning: Cleaning = field(default_factory=Cleaning)

    def __post_init__(self) -> None:
        object.__setattr__(self, "colour", numbers("segmenter 'colour': colour", self.colour, 3))
        object.__setattr__(self, "cleaning", cleaning_of(self.cleaning))
        real("segmenter 'colour': tolerance", self.tolerance, above=0.0)

    def mattes(self, video: Video) -> NDArray[np.float32]:
        rough = (key_distance(image, self.colour) < self.tolerance for image in video)
        return self.cleaning.mattes(video, rough, None)
