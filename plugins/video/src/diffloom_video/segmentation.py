"""Segmentation: masks of a video by a background plate, a colour or motion."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from diffloom.interfaces import InputError
from diffloom_fitting.targets import Ruler, Target, find_repeats, with_masks
from diffloom_fitting.validation import check_instance, check_numbers, check_real, check_whole
from diffloom_video.kinds import get_segmenter
from diffloom_video.mattes import Cleaning, Plane, dot, make_cleaning

Video = NDArray[np.float32]
"""(frames, height, width, 3) in 0..1; mattes have no channels."""


class Segmenter(ABC):
    """Finder of the object in a video.

    Implementations are frozen dataclasses, registered by name through the hook ``diffloom_register_segmenters``. An
    experiment file chooses one with ``target.segment`` and sets its fields beside the name.
    """

    @abstractmethod
    def mattes(self, video: Video) -> NDArray[np.float32]:
        """Estimate the coverage of each pixel by the object.

        Args:
            video: (frames, height, width, 3) in 0..1.

        Returns:
            (frames, height, width) in 0..1; zero in frames that do not show the object. Blurred edges have values
            between; other moving things, such as a hand, are left out if possible.
        """


#: Part of an image whose strongest differences measure the contrast of the object; smaller than any object.
PATCH = 1e-3
#: Ratio of the strongest few pixels to such a part from which on the object is smaller than the part.
FALLS = 2.0
#: Threshold as a share of the object's contrast, and in median deviations of the noise.
SHARE, NOISE = 0.35, 8.0
#: Weight of a shadow's darkening in a difference.
SHADOW = 0.3


def background_plate(video: Video, plate: str | Plane = "median", first: int = 5) -> Plane:
    """Return the background (height, width, 3) of a video.

    Args:
        video: (frames, height, width, 3).
        plate: "median" over all frames, which shows the background if the object covers each pixel less than half of
            the time; "first", the median of the first frames, before the object appears; or an image, (height, width,
            3) in 0..1 or a file.
        first: Number of first frames.
    """
    if not isinstance(plate, str):
        image = np.asarray(plate, np.float32)
        if image.shape != video.shape[1:]:
            raise InputError(f"segmenter 'plate': got a plate of shape {image.shape}; expected {video.shape[1:]}")
        return image
    if plate == "median":
        # About 120 frames are enough for a median.
        return np.asarray(np.median(video[:: max(1, len(video) // 120)], axis=0), np.float32)
    if plate == "first":
        return np.asarray(np.median(video[:first], axis=0), np.float32)
    from diffloom_video.images import read_image, scale_frame

    if not Path(plate).is_file():
        raise InputError(f"segmenter 'plate': got plate={plate!r}; expected median, first, or an image file")
    height, width = video.shape[1:3]
    return np.asarray(scale_frame(read_image(Path(plate)), (height, width), torch.float32))


def measure_differences(image: Plane, plate: Plane, shadows: bool) -> Plane:
    """Return the distance (height, width) of the colours from those of the plate.

    Args:
        image: (height, width, 3).
        plate: (height, width, 3).
        shadows: True to give little weight to pixels that are only darker than the plate.
    """
    if not shadows:
        return np.asarray(np.sqrt(dot(image - plate, image - plate)))
    scale = dot(image, plate) / np.maximum(dot(plate, plate), 1e-4)
    shade = np.clip(scale, 0.3, 1.0)[..., None]
    rest, dark = image - shade * plate, (1.0 - shade) * plate
    return np.asarray(np.sqrt(dot(rest, rest) + SHADOW**2 * dot(dark, dark)))


def find_rough_masks(apart: Plane, threshold: float | None) -> NDArray[np.bool_]:
    """Return the pixels whose difference is that of an object.

    Args:
        apart: (frames, height, width), differences from the background.
        threshold: Smallest difference; None takes a share of the object's contrast, at least the noise.
    """
    least = _threshold(apart) if threshold is None else threshold
    return np.asarray(apart > least)


def _threshold(apart: Plane) -> float:
    strongest, peak = (_strongest(apart, count) for count in (max(9, round(PATCH * apart[0].size)), 9))
    sample = apart[:: max(1, len(apart) // 20)]
    centre = float(np.median(sample))
    noise = 1.4826 * float(np.median(np.abs(sample - centre)))
    # If the contrast falls off within the patch, the object is smaller, and the rest is thread or noise.
    return max(SHARE * (peak if peak > FALLS * strongest else strongest), centre + NOISE * noise)


def _strongest(apart: Plane, count: int) -> float:
    """Return the difference that ``count`` pixels exceed: the upper quartile over frames, as the object may be away."""
    found = np.partition(apart.reshape(len(apart), -1), -count, axis=1)[:, -count]
    return float(np.quantile(found, 0.75))


@dataclass(frozen=True)
class BackgroundPlate(Segmenter):
    """Segmenter by the difference from a background plate, for a camera that stands still.

    Args:
        plate: "median" of the video, "first" frames, or an image (an array, or a file).
        first: Number of frames for "first".
        threshold: Smallest difference in colour (0..1) of the object; None takes it from the video.
        shadows: True to leave out pixels that are only darker than the plate.
        cleaning: Settings for cleaning the masks.
    """

    plate: str | Plane = "median"
    first: int = 5
    threshold: float | None = None
    shadows: bool = True
    cleaning: Cleaning = field(default_factory=Cleaning)

    def __post_init__(self) -> None:
        object.__setattr__(self, "cleaning", make_cleaning(self.cleaning))

    def mattes(self, video: Video) -> NDArray[np.float32]:
        behind = background_plate(video, self.plate, self.first)
        apart = np.stack([measure_differences(image, behind, self.shadows) for image in video])
        rough = find_rough_masks(apart, self.threshold)
        return self.cleaning.mattes(video, rough, behind)


#: Weight of brightness relative to hue, low because light and shade change it.
BRIGHTNESS = 0.3


def key_distance(image: Plane, colour: tuple[float, ...]) -> Plane:
    """Return the distance (height, width) in rgb from ``colour`` at each pixel's brightness, plus part of the
    difference in brightness.
    """
    key = np.asarray(colour, np.float32)
    along = image @ (key / np.linalg.norm(key))
    hue = image - along[..., None] * (key / np.linalg.norm(key))
    light = along - np.linalg.norm(key)
    return np.asarray(np.sqrt((hue**2).sum(-1) + (BRIGHTNESS * light) ** 2))


@dataclass(frozen=True)
class ColourKey(Segmenter):
    """Segmenter by colour, for a camera that may move.

    Args:
        colour: rgb of the object, 0..1.
        tolerance: Largest distance from it in rgb, in which brightness counts little.
        cleaning: Settings for cleaning the masks.
    """

    colour: tuple[float, float, float] = (0.0, 1.0, 0.0)
    tolerance: float = 0.15
    cleaning: Cleaning = field(default_factory=Cleaning)

    def __post_init__(self) -> None:
        object.__setattr__(self, "colour", check_numbers("segmenter 'colour': colour", self.colour, 3))
        object.__setattr__(self, "cleaning", make_cleaning(self.cleaning))
        check_real("segmenter 'colour': tolerance", self.tolerance, above=0.0)

    def mattes(self, video: Video) -> NDArray[np.float32]:
        rough = (key_distance(image, self.colour) < self.tolerance for image in video)
        return self.cleaning.mattes(video, rough, None)


@dataclass(frozen=True)
class Motion(Segmenter):
    """Segmenter by the difference from earlier and later frames, for a background whose light changes.

    The object must move by more than its size in ``gap`` frames, at least at its edges; an object at rest is not found.

    Args:
        gap: Number of frames to the earlier and to the later one.
        threshold: Smallest difference in colour (0..1) of the object; None takes it from the video.
        shadows: True to leave out pixels that are only darker.
        cleaning: Settings for cleaning the masks.
    """

    gap: int = 6
    threshold: float | None = None
    shadows: bool = True
    cleaning: Cleaning = field(default_factory=Cleaning)

    def __post_init__(self) -> None:
        object.__setattr__(self, "cleaning", make_cleaning(self.cleaning))

    def mattes(self, video: Video) -> NDArray[np.float32]:
        gap, count = check_whole("segmenter 'motion': gap", self.gap, 1), len(video)
        if count <= gap:
            raise InputError(f"segmenter 'motion': got {count} frames; expected more than gap={gap}")
        apart = np.stack(
            [
                np.minimum(
                    *(measure_differences(video[k], video[other], self.shadows) for other in _others(k, gap, count))
                )
                for k in range(count)
            ]
        )
        rough = find_rough_masks(apart, self.threshold)
        return np.stack([self.cleaning.matte(*pair, None) for pair in zip(video, rough, strict=True)])


def _others(number: int, gap: int, count: int) -> tuple[int, int]:
    """Return the two frames to compare with: earlier and later, or two on one side at the ends."""
    if number < gap:
        return number + gap, min(number + 2 * gap, count - 1)
    if number + gap >= count:
        return number - gap, max(number - 2 * gap, 0)
    return number - gap, number + gap


def segment(target: Target, segmenter: Segmenter | str, ruler: Ruler = "area") -> Target:
    """Add masks, tracks and the confidence of each frame to a target.

    Example:
        found = segment(read_video("clip.mp4"), BackgroundPlate())
        found.tracks.shape  # column, row, radius [px] and weight of each frame

    Args:
        target: Target with frames.
        segmenter: Such as ``BackgroundPlate()``, or the name of a registered one.
        ruler: Measure of the tracks' radii: the "area", or the width "across" the motion.

    Returns:
        The target with masks, tracks and confidence.

    Raises:
        InputError: The target has no frames, or no frame shows an object.
    """
    chosen = check_instance("segmenter", segmenter, Segmenter, get_segmenter)  # type: ignore[type-abstract]
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
    return with_masks(target, mattes, find_repeats(video, mattes), ruler)
