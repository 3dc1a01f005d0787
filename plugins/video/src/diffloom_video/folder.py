"""A folder of images as a video."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from diffloom.interfaces import InputError
from diffloom_video.limits import check_pixels

#: What Pillow may take a file for, whatever its name says.
FORMATS = ("PNG", "JPEG", "BMP", "TIFF", "WEBP")
ENDINGS = (".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff", ".webp")


def images_in(folder: Path) -> list[Path]:
    """Its images, frame2 before frame10; InputError when there are none."""
    found = [p for p in folder.iterdir() if p.suffix.lower() in ENDINGS]
    if not found:
        raise InputError(f"folder {str(folder)!r}: no images in it; expected files ending in {', '.join(ENDINGS)}")
    return sorted(found, key=lambda p: [int(s) if s.isdigit() else s for s in re.split(r"(\d+)", p.name)])


def read_image(path: Path, mode: str = "RGB") -> NDArray[np.uint8]:
    """(height, width, 3) bytes, or (height, width) for mode "L"."""
    import warnings

    from PIL import Image

    what = f"image {str(path)!r}"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # our own limit is the lower one
            with Image.open(path, formats=FORMATS) as image:
                check_pixels(what, *image.size)
                return np.asarray(image.convert(mode), dtype=np.uint8).copy()
    except InputError:
        raise
    except Exception as error:  # decoders raise what they like on damaged files: SyntaxError, struct.error, ...
        raise InputError(f"{what}: cannot be read ({str(error)[:200]}); it may be damaged, or too large") from error


def read_folder(folder: Path, rate: float | None) -> Iterator[tuple[float, NDArray[np.uint8]]]:
    """Time [s] and rgb bytes of each image."""
    if rate is None or not rate > 0.0:
        raise InputError(
            f"folder {str(folder)!r}: images have no times; say how many there are per second, e.g. rate = 30"
        )
    shape: tuple[int, ...] | None = None
    for number, path in enumerate(images_in(folder)):
        image = read_image(path)
        if shape is not None and image.shape != shape:
            raise InputError(
                f"folder {str(folder)!r}: {path.name} is {image.shape[1]}x{image.shape[0]} pixels, the ones before "
                f"{shape[1]}x{shape[0]}; expected one size"
            )
        shape = image.shape
        yield number / rate, image
