"""Images and folders of images: reading and resizing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor
from torch.nn.functional import interpolate

from diffloom.interfaces import InputError
from diffloom.regular_files import IMAGE_FORMATS, MOST_IMAGE, check_pixels, open_regular

__all__ = ["crop_frame", "list_images", "read_image", "resize", "scale_frame"]

ENDINGS = (".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff", ".webp")


def list_images(folder: Path) -> list[Path]:
    """List the images of a folder in the order of the numbers in their names.

    Args:
        folder: An existing folder.

    Returns:
        Paths, frame2 before frame10.

    Raises:
        InputError: The folder has no images.
    """
    found = [p for p in folder.iterdir() if p.suffix.lower() in ENDINGS]
    if not found:
        raise InputError(f"folder {str(folder)!r}: it has no images; expected files ending in {', '.join(ENDINGS)}")
    return sorted(found, key=lambda p: [int(s) if s.isdigit() else s for s in re.split(r"(\d+)", p.name)])


def read_image(path: Path, mode: str = "RGB") -> NDArray[np.uint8]:
    """Read an image.

    Args:
        path: The file.
        mode: "RGB", or "L" for grey.

    Returns:
        (height, width, 3) bytes, or (height, width) for mode "L".

    Raises:
        InputError: The file is damaged, too large or no image.
    """
    import warnings

    from PIL import Image

    what = f"image {str(path)!r}"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # check_pixels is stricter
            with open_regular(path, MOST_IMAGE, what="image") as file, Image.open(file, formats=IMAGE_FORMATS) as image:
                check_pixels(what, *image.size)
                return np.asarray(image.convert(mode), dtype=np.uint8).copy()
    except InputError:
        raise
    except Exception as error:  # decoders raise many errors on damaged files: SyntaxError, struct.error, ...
        raise InputError(f"{what}: it cannot be read ({str(error)[:200]}); it may be damaged, or too large") from error


def read_folder(folder: Path, rate: float | None) -> Iterator[tuple[float, NDArray[np.uint8]]]:
    """Yield the time [s] and the rgb bytes of each image of a folder."""
    if rate is None or not rate > 0.0:
        raise InputError(
            f"folder {str(folder)!r}: images have no times; give their number per second, such as rate = 30"
        )
    shape: tuple[int, ...] | None = None
    for number, path in enumerate(list_images(folder)):
        image = read_image(path)
        if shape is not None and image.shape != shape:
            raise InputError(
                f"folder {str(folder)!r}: {path.name} is {image.shape[1]}x{image.shape[0]} pixels, the ones before "
                f"{shape[1]}x{shape[0]}; expected one size"
            )
        shape = image.shape
        yield number / rate, image


def resize(image: Tensor, size: tuple[int, int]) -> Tensor:
    """Scale an image to ``size``.

    A smaller image is the exact mean over each new pixel, as a camera with larger pixels would record it; a larger one
    is interpolated linearly. Height and width must scale alike to within 2 %, because a stretched video has another
    field of view for each axis.

    Args:
        image: (height, width, channels).
        size: (height, width) [px].

    Returns:
        (*size, channels).
    """
    check_shape(int(image.shape[0]), int(image.shape[1]), size)
    if image.shape[:2] == size:
        return image
    if size[0] > image.shape[0] or size[1] > image.shape[1]:
        batch = image.permute(2, 0, 1)[None]
        scaled = interpolate(batch, size=size, mode="bilinear", antialias=True, align_corners=False)
        return scaled[0].permute(1, 2, 0).clamp(0.0, 1.0).contiguous()
    return torch.from_numpy(average_areas(image.numpy(force=True), size)).to(image)


def average_areas(image: NDArray[Any], size: tuple[int, int]) -> NDArray[Any]:
    """Return the mean of an image over each pixel of a coarser grid; pixels on a border count by the share inside.

    Smooth resampling filters reach into neighbouring pixels and widen outlines: a linear one adds a variance of 1/12
    of a pixel squared, which a fit would take for a larger object.

    Args:
        image: (height, width, channels) bytes or floats.
        size: Height and width, at most those of the image.

    Returns:
        (height, width, channels) of ``size``, in float32 for bytes, else float64.
    """
    dtype = "float32" if image.dtype == np.uint8 else "float64"
    height, width, channels = image.shape
    rows = _area_weights(height, size[0], dtype) @ image.reshape(height, -1)
    columns = np.ascontiguousarray(rows.reshape(size[0], width, channels).swapaxes(0, 1)).reshape(width, -1)
    means = (_area_weights(width, size[1], dtype) @ columns).reshape(size[1], size[0], channels)
    return np.ascontiguousarray(means.swapaxes(0, 1))


@lru_cache(maxsize=8)
def _area_weights(old: int, new: int, dtype: str) -> csr_array:
    """(new, old): share of each old pixel in each new one; rows add up to 1. A sum runs in one fixed order."""
    edges = np.linspace(0.0, old, new + 1)
    first, last = np.floor(edges[:-1]).astype(int), np.ceil(edges[1:]).astype(int)
    row = np.repeat(np.arange(new), last - first)
    column = np.concatenate([np.arange(*pair) for pair in zip(first, last, strict=True)])
    share = (np.minimum(edges[row + 1], column + 1) - np.maximum(edges[row], column)) * (new / old)
    return csr_array((share.astype(dtype), (row, column)), shape=(new, old))


def check_shape(height: int, width: int, size: tuple[int, int]) -> None:
    """Raise unless an image of this height and width can be scaled to ``size`` without stretching it."""
    ratio = (size[0] / height) / (size[1] / width)
    # Half a pixel of a small image may be more than 2 %.
    if (height, width) != size and not min(0.98, 1.0 - 0.5 / min(size)) < ratio < max(1.02, 1.0 + 0.5 / min(size)):
        raise InputError(
            f"the video is {width}x{height} pixels and the camera {size[1]}x{size[0]}, another shape; set camera.size "
            f"to [{size[0]}, {round(size[0] * width / height)}] or to the video's own [{height}, {width}]"
        )


def scale_frame(frame: NDArray[Any], size: tuple[int, int] | None, dtype: torch.dtype, gamma: float = 1.0) -> Tensor:
    """Scale a reader's frame and convert it to a tensor.

    Args:
        frame: (height, width, 3), bytes or 0..1.
        size: (height, width) [px]; None keeps the frame's own.
        dtype: Type of the result.
        gamma: Exponent from numbers to light. Unless it is 1, shrinking averages light instead of numbers.

    Returns:
        (height, width, 3) in 0..1.
    """
    if gamma != 1.0 and size is not None and frame.shape[:2] != size:
        light = torch.from_numpy(np.ascontiguousarray(frame)).to(torch.float32)
        light = (light / 255.0 if frame.dtype == np.uint8 else light).clamp(min=0.0) ** gamma
        return (resize(light, size) ** (1.0 / gamma)).to(dtype)
    image = torch.from_numpy(np.ascontiguousarray(frame))
    scale = 255.0 if frame.dtype == np.uint8 else 1.0
    if size is None or frame.shape[:2] == size:
        return image.to(dtype) / scale
    if size[0] > frame.shape[0] or size[1] > frame.shape[1]:
        return resize(image.to(dtype) / scale, size)
    check_shape(frame.shape[0], frame.shape[1], size)
    return torch.from_numpy(average_areas(frame, size)).to(dtype) / scale


def crop_frame(frame: NDArray[Any], crop: tuple[int, int, int, int] | None, rotate: int, name: str) -> NDArray[Any]:
    """Turn a frame, then crop it.

    Args:
        frame: (height, width, channels).
        crop: (top, left, height, width) [px] of the turned frame; None keeps all of it.
        rotate: Angle [degrees], counter-clockwise, a multiple of 90.
        name: Name of the video, for errors.

    Returns:
        A view of the frame.
    """
    if rotate % 90:
        raise InputError(f"video {name!r}: got rotate={rotate}; expected 0, 90, 180 or 270 degrees")
    turned = np.rot90(frame, rotate // 90 % 4)
    if crop is None:
        return turned
    top, left, height, width = crop
    within = top >= 0 and left >= 0 and top + height <= turned.shape[0] and left + width <= turned.shape[1]
    if not within or height < 1 or width < 1:
        raise InputError(
            f"video {name!r}: got crop={list(crop)}; expected [top, left, height, width] within its "
            f"{turned.shape[0]} rows and {turned.shape[1]} columns"
        )
    return turned[top : top + height, left : left + width]
