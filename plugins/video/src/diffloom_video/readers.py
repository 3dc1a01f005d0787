"""Video readers: frames with their times from files and folders. Plugins add more, by name."""

from __future__ import annotations

import heapq
import warnings
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import numpy as np
from numpy.typing import NDArray

from diffloom.interfaces import InputError
from diffloom.regular_files import open_regular
from diffloom_video.images import read_folder
from diffloom_video.limits import check_pixels

Frame = NDArray[Any]


class VideoReader(ABC):
    """Reader of the frames of a video.

    Implementations are frozen dataclasses, registered by name through the hook ``diffloom_register_video_readers``. An
    experiment file sets their fields in [target], as in ``reader = {name = "raw", width = 640}``.
    """

    @abstractmethod
    def frames(self, path: Path, rate: float | None) -> Iterator[tuple[float, Frame]]:
        """Yield the frames with their times.

        Args:
            path: An existing file or folder.
            rate: Frames per second that replace time stamps, or None.

        Returns:
            Increasing times [s] from 0 on, and frames (height, width, 3), rgb with row 0 on top: uint8, or floating
            point in 0..1.

        Raises:
            InputError: The video cannot be read; the message says what to do.
        """

    def chroma(self, path: Path) -> int:
        """Return the side of the squares of pixels that share one colour.

        Args:
            path: An existing file or folder.

        Returns:
            The side [px]; 1 if each pixel has its own colour.
        """
        return 1


@dataclass(frozen=True)
class ImageFolder(VideoReader):
    """A folder of images (png, jpeg, tiff, ...) in the order of the numbers in their names; needs ``rate``."""

    def frames(self, path: Path, rate: float | None) -> Iterator[tuple[float, Frame]]:
        return read_folder(path, rate)


#: Largest file of a video [bytes].
MOST_BYTES = 2**40
#: Files that FFmpeg may open: formats that contain their frames, and no playlists, which name other files or addresses.
_CLOSED = {
    "protocol_whitelist": "file",
    "format_whitelist": "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,avi,gif,apng,asf,flv,ogg,mpeg,mpegts,mpegvideo,h264,"
    "hevc,ivf,mjpeg,yuv4mpegpipe,m4v,nut,mxf",
}


@dataclass(frozen=True)
class VideoFile(VideoReader):
    """A file that FFmpeg decodes, such as mp4 or gif.

    Times are the file's own time stamps unless ``rate`` is given. Frames are turned upright if the file has an angle.
    """

    def frames(self, path: Path, rate: float | None) -> Iterator[tuple[float, Frame]]:
        first: float | None = None
        for time, frame in sort_frames(_decode_frames(path, rate), path.name):
            first = time if first is None else first
            image = np.asarray(frame.to_ndarray(format="rgb24"), dtype=np.uint8)
            # The file's angle turns the stored frame counter-clockwise into the one that is shown.
            yield time - first, np.rot90(image, round(frame.rotation / 90.0) % 4) if frame.rotation else image

    def chroma(self, path: Path) -> int:
        import av

        with open_video(path) as file, av.open(file, "r", options=_CLOSED) as container:
            kind = container.streams.video[0].codec_context.format
            parts = () if kind is None else kind.components
            return max((round(parts[0].width / part.width) for part in parts if part.is_chroma), default=1)


def open_video(path: Path) -> BinaryIO:
    """Open the file of a video; its frames are read one by one, so it may be large."""
    return open_regular(path, MOST_BYTES, what="video")


def _decode_frames(path: Path, rate: float | None) -> Iterator[tuple[float, Any]]:
    """Yield time stamps [s] in file order, and frames as the codec stores them."""
    import av

    try:
        # An open file prevents that a name is taken for an address.
        with open_video(path) as file, av.open(file, "r", options=_CLOSED) as container:
            if not container.streams.video:
                raise InputError(f"video {path.name!r}: the file has no video in it; expected mp4, gif or similar")
            stream = container.streams.video[0]
            stream.thread_type = "AUTO"
            check_pixels(f"video {path.name!r}", stream.codec_context.width, stream.codec_context.height)
            for number, frame in enumerate(container.decode(stream)):
                check_pixels(f"video {path.name!r}", frame.width, frame.height)
                yield (_time(frame, number, stream) if rate is None else number / rate), frame
    except InputError:
        raise
    except Exception as error:  # a damaged file may lack anything, a decoder included
        told = getattr(error, "strerror", None) or error
        raise InputError(
            f"video {path.name!r}: it cannot be read as a video ({told}); it may be damaged or cut off. Try to "
            "play it, convert it to mp4, or name the reader for its format (target.reader)"
        ) from error


def _time(frame: Any, number: int, stream: Any) -> float:
    """Return a frame's time stamp [s]; a stream without stamps falls back on its frame rate."""
    if frame.pts is not None and frame.time_base is not None:
        return float(frame.pts * frame.time_base)
    if not stream.average_rate:
        raise InputError("the video has neither time stamps nor a frame rate; extract its frames into a folder")
    return float(number / stream.average_rate)


def choose_reader(path: Path, reader: VideoReader | str | None) -> VideoReader:
    """Return the given reader, the one of this name, or the default one for a file or a folder."""
    if isinstance(reader, VideoReader):
        return reader
    if reader is None:
        return ImageFolder() if path.is_dir() else VideoFile()
    from diffloom_video.kinds import get_video_reader

    made: VideoReader = get_video_reader(reader)()
    return made


Item = TypeVar("Item")

#: Largest number of frames that a codec holds back to reorder them.
REACH = 16


def sort_frames(frames: Iterable[tuple[float, Item]], name: str) -> Iterator[tuple[float, Item]]:
    """Yield frames with increasing times [s].

    Decoders yield frames in order, but some containers give their time stamps in another order. The n-th frame then
    gets the n-th stamp in time, with a warning.

    Args:
        frames: Time stamps [s] and frames.
        name: Name of the video in errors.

    Raises:
        InputError: Time stamps repeat, or go back farther than REACH frames.
    """
    waiting: deque[tuple[float, Item]] = deque()
    stamps: list[float] = []
    last, told = None, False
    for number, (time, item) in enumerate(_with_end(frames)):
        if item is not None:
            waiting.append((time, item))
            heapq.heappush(stamps, time)
        while waiting and (item is None or len(waiting) > REACH):
            (own, oldest), stamp = waiting.popleft(), heapq.heappop(stamps)
            if last is not None and stamp <= last:
                raise InputError(
                    f"video {name!r}: its time stamps do not increase: around frame {number - len(waiting) - 1}, "
                    f"{stamp:g} s follows {last:g} s; give the frames per second, such as rate = 30"
                )
            if own != stamp and not told:
                told = True
                warnings.warn(
                    f"video {name!r}: its time stamps are out of order and were sorted, because decoders yield frames "
                    "in order. Give rate (frames per second) to count frames instead",
                    stacklevel=2,
                )
            last = stamp
            yield stamp, oldest


def _with_end(frames: Iterable[tuple[float, Item]]) -> Iterator[tuple[float, Item | None]]:
    """Yield the frames, and a last entry without one."""
    yield from frames
    yield 0.0, None
