"""Limits of size and time for reading files from unknown sources."""

from __future__ import annotations

import io
import time
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from diffloom.interfaces import InputError
from diffloom.regular_files import check_pixels, open_regular

__all__ = ["MOST_BYTES", "MOST_FRAMES", "ReadingLimits", "check_pixels", "convert_errors", "read_arrays"]

MOST_FRAMES = 200_000
"""Largest number of frames that are decoded, kept or not."""
MOST_MEMORY = 4 * 2**30
"""Largest memory of kept frames [bytes]."""
#: Longest time for reading one video [s].
MOST_SECONDS = 1800.0
#: Largest file of arrays, packed or unpacked [bytes].
MOST_BYTES = 2 * 2**30


@contextmanager
def convert_errors(what: str, expected: str) -> Iterator[None]:
    """Context manager: turns every error of reading a file into an InputError.

    Args:
        what: Name of the file in errors.
        expected: Expected content of the file.

    Returns:
        The context manager.
    """
    try:
        yield
    except InputError:
        raise
    except Exception as error:  # a damaged file may raise anything
        told = str(error).strip()[:200] or type(error).__name__
        raise InputError(f"{what}: it cannot be read ({told}); expected {expected}") from error


def read_arrays(source: Path | bytes, what: str, names: tuple[str, ...]) -> dict[str, NDArray[Any]]:
    """Read arrays of an NPZ file. Sizes are checked before anything is unpacked.

    Args:
        source: The file, or its content.
        what: Name of the file in errors.
        names: Names of the arrays.

    Returns:
        The arrays by name.

    Raises:
        InputError: The file is damaged, too large or lacks an array.
    """
    with convert_errors(what, f"an NPZ file with {' and '.join(names)}"), ExitStack() as stack:
        if isinstance(source, bytes) and len(source) > MOST_BYTES:
            raise InputError(f"{what}: it is larger than {MOST_BYTES / 2**30:.0f} GB")
        content = stack.enter_context(
            io.BytesIO(source) if isinstance(source, bytes) else open_regular(source, MOST_BYTES)
        )
        with zipfile.ZipFile(content) as archive:
            if sum(part.file_size for part in archive.infolist()) > MOST_BYTES:
                raise InputError(f"{what}: it unpacks to more than {MOST_BYTES / 2**30:.0f} GB")
        content.seek(0)
        with np.load(content, allow_pickle=False) as data:
            for name in names:
                if name not in data:
                    raise InputError(f"{what}: it has no array {name!r}; it has {', '.join(data)}")
            return {name: np.asarray(data[name]) for name in names}


class ReadingLimits:
    """Counter of frames, bytes and time while a video is read; stops endless streams.

    Args:
        what: Name of the video in errors.
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._began = time.monotonic()
        self._frames = 0
        self._bytes = 0

    def count_decoded(self) -> None:
        """Count one decoded frame.

        Raises:
            InputError: The video has too many frames, or reading takes too long.
        """
        self._frames += 1
        if self._frames > MOST_FRAMES:
            self._refuse(f"it has more than {MOST_FRAMES} frames")
        if time.monotonic() - self._began > MOST_SECONDS:
            self._refuse(f"reading takes more than {MOST_SECONDS:g} s")

    def count_kept(self, size: int) -> None:
        """Count one frame that is kept.

        Args:
            size: Size of the frame [bytes].

        Raises:
            InputError: Kept frames take too much memory.
        """
        self._bytes += size
        if self._bytes > MOST_MEMORY:
            self._refuse(f"its frames take more than {MOST_MEMORY / 2**30:.0f} GB")

    def _refuse(self, why: str) -> None:
        raise InputError(f"video {self._what!r}: {why}; cut it, or give size, duration or every")
