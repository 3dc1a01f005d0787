"""How much is read from a file that anybody may have made, and how long it may take."""

from __future__ import annotations

import time

from diffloom.interfaces import InputError

#: Most pixels of an image or a frame: some 8000 x 8000.
MOST_PIXELS = 2**26
#: Most frames that are decoded, kept or not, and most memory that kept frames may take [bytes].
MOST_FRAMES, MOST_MEMORY = 200_000, 4 * 2**30
#: Longest time that reading one video may take [s].
MOST_SECONDS = 1800.0


def check_pixels(what: str, width: int, height: int) -> None:
    """Raise unless an image of this size can be read: before it is decoded, for a few bytes can claim any size."""
    if width < 1 or height < 1 or width * height > MOST_PIXELS:
        raise InputError(
            f"{what}: it is {width} x {height} pixels; expected at least 1 x 1 and at most {MOST_PIXELS} in all; scale "
            "it down first"
        )


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
