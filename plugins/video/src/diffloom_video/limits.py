"""How much is read from a file that anybody may have made, and how long it may take."""

from __future__ import annotations

import io
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from diffloom.interfaces import InputError

__all__ = ["MOST_BYTES", "MOST_FRAMES", "ReadingLimits", "check_pixels", "convert_errors", "read_arrays"]

#: Most pixels of an image or a frame: some 8000 x 8000.
MOST_PIXELS = 2**26
MOST_FRAMES = 200_000
"""Most frames that are decoded, kept or not."""
MOST_MEMORY = 4 * 2**30
"""Most memory that kept frames may take [bytes]."""
#: Longest time that reading one video may take [s].
MOST_SECONDS = 1800.0
#: Largest file of numbers, packed or not [bytes].
MOST_BYTES = 2 * 2**30


def check_pixels(what: str, width: int, height: int) -> None:
    """Raise unless an image of this size can be read: before it is decoded, for a few bytes can claim any size."""
    if width < 1 or height < 1 or width * height > MOST_PIXELS:
        raise InputError(
            f"{what}: it is {width} x {height} pixels; expected at least 1 x 1 and at most {MOST_PIXELS} in all; scale "
            "it down first"
        )


@contextmanager
def convert_errors(what: str, expected: str) -> Iterator[None]:
    """Whatever reading somebody's file raises is an InputError that says what was expected of it."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:  # made up by somebody: whatever it raises, this is not what was expected
        told = str(error).strip()[:200] or type(error).__name__
        raise InputError(f"{what}: it cannot be read ({told}); expected {expected}") from error


def read_arrays(source: Path | bytes, what: str, names: tuple[str, ...]) -> dict[str, NDArray[Any]]:
    """The arrays ``names`` of an NPZ file, or of its content. What it says it unpacks to is looked at first."""
    with convert_errors(what, f"an NPZ file with {' and '.join(names)}"):
        if (len(source) if isinstance(source, bytes) else source.stat().st_size) > MOST_BYTES:
            raise InputError(f"{what}: it is larger than {MOST_BYTES / 2**30:.0f} GB")
        content = io.BytesIO(source) if isinstance(source, bytes) else source
        with zipfile.ZipFile(content) as archive:
            if sum(part.file_size for part in archive.infolist()) > MOST_BYTES:
                raise InputError(f"{what}: it unpacks to more than {MOST_BYTES / 2**30:.0f} GB")
        if isinstance(content, io.BytesIO):
            content.seek(0)
        with np.load(content, allow_pickle=False) as data:
            for name in names:
                if name not in data:
                    raise InputError(f"{what}: it has no array {name!r}; it has {', '.join(data)}")
            return {name: np.asarray(data[name]) for name in names}


class ReadingLimits:
    """What has been read of a video so far; a stream without end is left when it comes to more than anyone fits."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._began = time.monotonic()
        self._frames = 0
        self._bytes = 0

    def decoded(self) -> None:
        """One more frame was decoded."""
        self._frames += 1
        if self._frames > MOST_FRAMES:
            self._refuse(f"it has more than {MOST_FRAMES} frames")
        if time.monotonic() - self._began > MOST_SECONDS:
            self._refuse(f"reading takes more than {MOST_SECONDS:g} s")

    def kept(self, size: int) -> None:
        """A frame of ``size`` bytes is kept."""
        self._bytes += size
        if self._bytes > MOST_MEMORY:
            self._refuse(f"its frames take more than {MOST_MEMORY / 2**30:.0f} GB")

    def _refuse(self, why: str) -> None:
        raise InputError(f"video {self._what!r}: {why}; cut it, or give size, duration or every")
