"""Films from files: mp4 and the like, gif, or a folder of pictures, each frame with its true time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from diffloom.interfaces import InputError
from diffloom_fitting.targets.folder import read_folder
from diffloom_fitting.targets.resize import resize
from diffloom_fitting.targets.target import Target

Picture = NDArray[np.uint8]


def read_film(
    path: str | Path, *, size: tuple[int, int] | None = None, begin: float = 0.0, duration: float | None = None,
    every: int = 1, rate: float | None = None, dtype: torch.dtype = torch.float32,
) -> Target:  # fmt: skip
    """A film as a target.

    path: a video or gif, or a folder of pictures (which needs ``rate``, frames per second). size: (height, width) to
    scale to. begin: time [s] in the film that becomes time 0; duration: how much of it [s]. every: keep each n-th
    frame. Times are the file's own time stamps, so a film of uneven frame rate stays true.
    """
    place = Path(path)
    if not place.exists():
        raise InputError(f"film {str(path)!r}: no such file or folder")
    if every < 1:
        raise InputError(f"film {place.name!r}: got every={every}; expected 1 or more")
    source = read_folder(place, rate) if place.is_dir() else _decode(place)
    end = float("inf") if duration is None else begin + duration
    times: list[float] = []
    frames: list[Tensor] = []
    seen = 0
    for time, picture in source:
        if time > end + 1e-9:
            break
        if time < begin - 1e-9:
            continue
        if seen % every == 0:
            frame = torch.from_numpy(picture).to(dtype) / 255.0
            frames.append(frame if size is None else resize(frame, size))
            times.append(max(time - begin, 0.0))
        seen += 1
    if not frames:
        raise InputError(f"film {place.name!r}: no frames between {begin:g} s and {end:g} s")
    return Target(torch.tensor(times, dtype=torch.float64), torch.stack(frames), step=1.0 / 255.0, source=str(path))


def _decode(path: Path) -> Iterator[tuple[float, Picture]]:
    """Time [s] and rgb bytes of each frame, in order of presentation."""
    import av

    try:
        with av.open(str(path)) as container:
            if not container.streams.video:
                raise InputError(f"film {path.name!r}: the file has no video in it; expected mp4, gif or similar")
            stream = container.streams.video[0]
            first: float | None = None
            for number, frame in enumerate(container.decode(stream)):
                time = _time(frame, number, stream)
                first = time if first is None else first
                yield time - first, np.asarray(frame.to_ndarray(format="rgb24"), dtype=np.uint8)
    except av.FFmpegError as error:
        raise InputError(
            f"film {path.name!r}: cannot be read as a video ({error.strerror or error}); it may be damaged or cut off. "
            "Try playing it, or convert it to mp4"
        ) from error


def _time(frame: object, number: int, stream: object) -> float:
    """The frame's time stamp [s]; a stream without stamps falls back on its frame rate."""
    pts, base = getattr(frame, "pts", None), getattr(frame, "time_base", None)
    if pts is not None and base is not None:
        return float(pts * base)
    rate = getattr(stream, "average_rate", None)
    if not rate:
        raise InputError("the film has neither time stamps nor a frame rate; extract its frames into a folder")
    return float(number / rate)
