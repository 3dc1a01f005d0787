"""A folder of pictures as a film."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from diffloom.interfaces import InputError

ENDINGS = (".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff", ".webp")


def pictures_in(folder: Path) -> list[Path]:
    """Its pictures, frame2 before frame10; InputError when there are none."""
    found = [p for p in folder.iterdir() if p.suffix.lower() in ENDINGS]
    if not found:
        raise InputError(f"folder {str(folder)!r}: no pictures in it; expected files ending in {', '.join(ENDINGS)}")
    return sorted(found, key=lambda p: [int(s) if s.isdigit() else s for s in re.split(r"(\d+)", p.name)])


def read_picture(path: Path, mode: str = "RGB") -> NDArray[np.uint8]:
    """(height, width, 3) bytes, or (height, width) for mode "L"."""
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(path) as picture:
            return np.asarray(picture.convert(mode), dtype=np.uint8).copy()
    except (UnidentifiedImageError, OSError) as error:
        raise InputError(f"picture {str(path)!r}: cannot be read ({error}); it may be damaged") from error


def read_folder(folder: Path, rate: float | None) -> Iterator[tuple[float, NDArray[np.uint8]]]:
    """Time [s] and rgb bytes of each picture."""
    if rate is None or not rate > 0.0:
        raise InputError(
            f"folder {str(folder)!r}: pictures have no times; say how many there are per second, e.g. rate = 30"
        )
    shape: tuple[int, ...] | None = None
    for number, path in enumerate(pictures_in(folder)):
        picture = read_picture(path)
        if shape is not None and picture.shape != shape:
            raise InputError(
                f"folder {str(folder)!r}: {path.name} is {picture.shape[1]}x{picture.shape[0]} pixels, the ones before "
                f"{shape[1]}x{shape[0]}; expected one size"
            )
        shape = picture.shape
        yield number / rate, picture
