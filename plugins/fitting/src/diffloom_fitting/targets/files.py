"""Videos as targets: each frame with its true time, scaled and cut to what is needed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from diffloom.interfaces import InputError
from diffloom_fitting.targets.limits import ReadingLimits
from diffloom_fitting.targets.readers import Frame, VideoReader, reader_for
from diffloom_fitting.targets.resize import resize
from diffloom_fitting.targets.target import Target


def read_video(
    path: str | Path, *, size: tuple[int, int] | None = None, begin: float = 0.0, duration: float | None = None,
    every: int = 1, rate: float | None = None, dtype: torch.dtype = torch.float32,
    reader: VideoReader | str | None = None,
) -> Target:  # fmt: skip
    """A video as a target.

    path: a video or gif, or a folder of images (which needs ``rate``, frames per second). size: (height, width) to
    scale to. begin: time [s] in the video that becomes time 0; duration: how much of it [s]. every: keep each n-th
    frame. Times are the file's own time stamps, so a video of uneven frame rate stays true. reader: a ``VideoReader``
    or the name of a registered one; None takes "folder" for folders and "video" for files.
    """
    place = Path(path)
    if not place.exists():
        raise InputError(f"video {str(path)!r}: no such file or folder")
    if every < 1:
        raise InputError(f"video {place.name!r}: got every={every}; expected 1 or more")
    chosen = reader_for(place, reader)
    source = chosen.frames(place, rate)
    end = float("inf") if duration is None else begin + duration
    times: list[float] = []
    frames: list[Tensor] = []
    seen, step, goes_on, height = 0, 0.0, False, 1
    limits = ReadingLimits(place.name)
    for time, image in source:
        limits.decoded()
        if time > end + 1e-9:
            goes_on = True
            break
        if time < begin - 1e-9:
            continue
        if seen % every == 0:
            height = image.shape[0]
            step = 1.0 / 255.0 if image.dtype == np.uint8 else 0.0
            frame = _as_tensor(image, place.name, dtype)
            frames.append(frame if size is None else resize(frame, size))
            limits.kept(frames[-1].numel() * frames[-1].element_size())
            times.append(max(time - begin, 0.0))
        seen += 1
    if not frames:
        raise InputError(f"video {place.name!r}: no frames between {begin:g} s and {end:g} s")
    shrunk = 1.0 if size is None else size[0] / height
    return Target(torch.tensor(times, dtype=torch.float64), torch.stack(frames), step=step, source=str(path),
                  goes_on=goes_on, chroma=max(1, round(chosen.chroma(place) * shrunk)))  # fmt: skip


def _as_tensor(frame: Frame, name: str, dtype: torch.dtype) -> Tensor:
    """A reader's frame in 0..1."""
    if frame.ndim != 3 or frame.shape[2] != 3:
        raise InputError(
            f"video {name!r}: its reader gives frames of shape {frame.shape}; expected (height, width, 3) rgb"
        )
    scale = 255.0 if frame.dtype == np.uint8 else 1.0
    return torch.from_numpy(np.ascontiguousarray(frame)).to(dtype) / scale
