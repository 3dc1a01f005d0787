"""Video readers: from what lies on disk to frames with their times. Others come through plugins, by name."""

from __future__ import annotations

import heapq
import warnings
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from diffloom.interfaces import InputError
from diffloom_video.images import read_folder
from diffloom_video.limits import check_pixels

Frame = NDArray[Any]


class VideoReader(ABC):
    """Reads the frames of a video. Implementations are frozen dataclasses, registered by name through the hook
    ``diffloom_register_video_readers``; their fields can be set in an experiment's [target] table, as in
    ``reader = {name = "raw", width = 640}``."""

    @abstractmethod
    def frames(self, path: Path, rate: float | None) -> Iterator[tuple[float, Frame]]:
        """Time [s], from 0 on and increasing, and the frame, (height, width, 3) rgb with row 0 on top: uint8, or
        floating point in 0..1.

        path: an existing file or folder. rate: frames per second, where the user gives them: they stand in for time
        stamps. What cannot be read is an InputError that says what to do.
        """

    def chroma(self, path: Path) -> int:
        """Side of the squares of pixels that share one colour [px]; 1 where each has its own."""
        return 1


@dataclass(frozen=True)
class ImageFolder(VideoReader):
    """A folder of images (png, jpeg, tiff, ...) in the order of the numbers in their names; needs ``rate``."""

    def frames(self, path: Path, rate: float | None) -> Iterator[tuple[float, Frame]]:
        return read_folder(path, rate)


#: What FFmpeg may open: files, in formats that hold their frames themselves. Playlists and lists of frames, which name
#: other files or addresses, are none.
_CLOSED = {
    "protocol_whitelist": "file",
    "format_whitelist": "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,avi,gif,apng,asf,flv,ogg,mpeg,mpegts,mpegvideo,h264,"
    "hevc,ivf,mjpeg,yuv4mpegpipe,m4v,nut,mxf",
}


@dataclass(frozen=True)
class VideoFile(VideoReader):
    """A file that FFmpeg decodes: mp4, gif and the like, with the file's own time stamps unless ``rate`` is given, and
    upright where the file says how the camera was held."""

    def frames(self, path: Path, rate: float | None) -> Iterator[tuple[float, Frame]]:
        first: float | None = None
        for time, frame in sort_frames(_decoded(path, rate), path.name):
            first = time if first is None else first
            image = np.asarray(frame.to_ndarray(format="rgb24"), dtype=np.uint8)
            # The file's angle turns the stored frame counter-clockwise into the one that is shown.
            yield time - first, np.rot90(image, round(frame.rotation / 90.0) % 4) if frame.rotation else image

    def chroma(self, path: Path) -> int:
        import av

        with av.open(f"file:{path.absolute()}", options=_CLOSED) as container:
            kind = container.streams.video[0].codec_context.format
            parts = () if kind is None else kind.components
            return max((round(parts[0].width / part.width) for part in parts if part.is_chroma), default=1)


def _decoded(path: Path, rate: float | None) -> Iterator[tuple[float, Any]]:
    """Time stamps [s] as they come, and frames as the codec keeps them."""
    import av

    try:
        # Named as a file, so that no name is taken for an address; and no format that points at other files.
        with av.open(f"file:{path.absolute()}", options=_CLOSED) as container:
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
            f"video {path.name!r}: cannot be read as a video ({told}); it may be damaged or cut off. Try "
            "playing it, convert it to mp4, or name the reader that its format needs"
        ) from error


def _time(frame: Any, number: int, stream: Any) -> float:
    """The frame's time stamp [s]; a stream without stamps falls back on its frame rate."""
    if frame.pts is not None and frame.time_base is not None:
        return float(frame.pts * frame.time_base)
    if not stream.average_rate:
        raise InputError("the video has neither time stamps nor a frame rate; extract its frames into a folder")
    return float(number / stream.average_rate)


def choose_reader(path: Path, reader: VideoReader | str | None) -> VideoReader:
    """The reader given, or of this name, or the one for a file or folder of the usual kind."""
    if isinstance(reader, VideoReader):
        return reader
    if reader is None:
        return ImageFolder() if path.is_dir() else VideoFile()
    from diffloom_video.kinds import get_video_reader

    made: VideoReader = get_video_reader(reader)()
    return made


Item = TypeVar("Item")

#: How many frames a stamp may stand from its own: the most that a codec holds back to put frames in order.
REACH = 16


def sort_frames(frames: Iterable[tuple[float, Item]], name: str) -> Iterator[tuple[float, Item]]:
    """Frames with increasing times [s].

    Frames are believed to come in the order in which they were taken, as decoders give them. Some containers hand out
    their stamps in another order: the n-th frame then gets the n-th stamp in time, and a warning says so. Stamps that
    repeat, or go back further, are an InputError.
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
                    f"video {name!r}: its time stamps tell no time: around frame {number - len(waiting) - 1}, "
                    f"{stamp:g} s follows {last:g} s; say how many frames it has per second, such as rate = 30"
                )
            if own != stamp and not told:
                told = True
                warnings.warn(
                    f"video {name!r}: its time stamps come out of order; they were put in order, since frames come in "
                    "the order in which they were taken. Give rate (frames per second) to count frames instead",
                    stacklevel=2,
                )
            last = stamp
            yield stamp, oldest


def _with_end(frames: Iterable[tuple[float, Item]]) -> Iterator[tuple[float, Item | None]]:
    """The frames and a last entry without one."""
    yield from frames
    yield 0.0, None
