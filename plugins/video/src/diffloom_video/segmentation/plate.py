"""A background plate: what the camera sees without the object, and what differs from it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from diffloom.interfaces import InputError
from diffloom_video.segmentation.mattes import Cleaning, Plane, cleaning_of
from diffloom_video.segmentation.segmenter import Segmenter, Video

#: Part of an image whose strongest differences tell the object's contrast: smaller than what can be fitted.
PATCH = 1e-3
#: How many times stronger than the rest of such a part its strongest few pixels are where the object is smaller.
FALLS = 2.0
#: Of the object's contrast: what counts as object. Median deviations of the noise that it must exceed as well.
SHARE, NOISE = 0.35, 8.0
#: How much of a shadow's darkening counts as a difference.
SHADOW = 0.3


def background_plate(video: Video, plate: str | Plane = "median", first: int = 5) -> Plane:
    """(height, width, 3): what is behind the object.

    plate: "median" over all frames, which shows what is there at least half of the time; "first": the median of the
    first frames, where the object is not yet there; or an image, (height, width, 3) in 0..1 or a file.
    """
    if not isinstance(plate, str):
        image = np.asarray(plate, np.float32)
        if image.shape != video.shape[1:]:
            raise InputError(f"segmenter 'plate': got a plate of shape {image.shape}; expected {video.shape[1:]}")
        return image
    if plate == "median":
        # Some 120 frames tell a median as well as a thousand.
        return np.asarray(np.median(video[:: max(1, len(video) // 120)], axis=0), np.float32)
    if plate == "first":
        return np.asarray(np.median(video[:first], axis=0), np.float32)
    from diffloom_video.folder import read_image
    from diffloom_video.resize import check_shape

    if not Path(plate).is_file():
        raise InputError(f"segmenter 'plate': got plate={plate!r}; expected median, first, or an image file")
    stored = read_image(Path(plate))
    height, width = video.shape[1:3]
    check_shape(stored.shape[0], stored.shape[1], (height, width))
    if stored.shape[:2] != (height, width):
        from PIL import Image

        stored = np.asarray(Image.fromarray(stored).resize((width, height), Image.Resampling.BILINEAR))
    return stored.astype(np.float32) / np.float32(255.0)


def differences(image: Plane, plate: Plane, shadows: bool) -> Plane:
    """(height, width): how far colours are from the plate's. shadows: a pixel that is only darker than the plate, in
    the same colour, counts little."""
    if not shadows:
        return np.sqrt(_dot(image - plate, image - plate))
    scale = _dot(image, plate) / np.maximum(_dot(plate, plate), 1e-4)
    shade = np.clip(scale, 0.3, 1.0)[..., None]
    rest, dark = image - shade * plate, (1.0 - shade) * plate
    return np.asarray(np.sqrt(_dot(rest, rest) + SHADOW**2 * _dot(dark, dark)))


def _dot(a: NDArray[Any], b: NDArray[Any]) -> Plane:
    """Over the channels; several times faster than a sum over an axis of three."""
    return np.asarray(np.einsum("...c,...c->...", a, b))


def rough_masks(apart: Plane, threshold: float | None) -> NDArray[np.bool_]:
    """(frames, height, width): where differences ``apart`` are those of an object. threshold: the least difference;
    None takes a share of the object's contrast, which its strongest pixels show, and more than noise."""
    least = _threshold(apart) if threshold is None else threshold
    return np.asarray(apart > least)


def _threshold(apart: Plane) -> float:
    strongest, peak = (_strongest(apart, count) for count in (max(9, round(PATCH * apart[0].size)), 9))
    sample = apart[:: max(1, len(apart) // 20)]
    centre = float(np.median(sample))
    noise = 1.4826 * float(np.median(np.abs(sample - centre)))
    # Where contrast falls off within the patch, the object is smaller, and all else there is thread or noise.
    return max(SHARE * (peak if peak > FALLS * strongest else strongest), centre + NOISE * noise)


def _strongest(apart: Plane, count: int) -> float:
    """The difference that ``count`` pixels exceed in frames that show the object: in the upper half of them, since it
    may be away for long."""
    found = np.partition(apart.reshape(len(apart), -1), -count, axis=1)[:, -count]
    return float(np.quantile(found, 0.75))


@dataclass(frozen=True)
class BackgroundPlate(Segmenter):
    """What differs from a background plate, for a camera that stands still.

    plate: "median" of the video, "first" frames, or an image (an array, or a file); first: how many of them. threshold:
    least difference in colour (0..1) of the object, None to take it from the video. shadows: leave out what is only
    darker than the plate. cleaning: how the mask is made clean.
    """

    plate: str | Plane = "median"
    first: int = 5
    threshold: float | None = None
    shadows: bool = True
    cleaning: Cleaning = field(default_factory=Cleaning)

    def __post_init__(self) -> None:
        object.__setattr__(self, "cleaning", cleaning_of(self.cleaning))

    def mattes(self, video: Video) -> NDArray[np.float32]:
        behind = background_plate(video, self.plate, self.first)
        apart = np.stack([differences(image, behind, self.shadows) for image in video])
        rough = rough_masks(apart, self.threshold)
        return self.cleaning.mattes(video, rough, behind)
