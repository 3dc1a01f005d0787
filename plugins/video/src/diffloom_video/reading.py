"""Targets from video files: frames, their times, and masks."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from diffloom.interfaces import InputError
from diffloom_fitting.targets import Target
from diffloom_fitting.validation import check_path as given_place
from diffloom_video.images import crop_frame, list_images, read_image, resize, scale_frame
from diffloom_video.limits import ReadingLimits
from diffloom_video.readers import Frame, VideoReader, choose_reader

if TYPE_CHECKING:
    from diffloom_fitting.scene import Scene


def read_masks(target: Target, path: str | Path, *, dtype: torch.dtype = torch.float32) -> Target:
    """Add masks from a file to a target.

    Args:
        target: The target.
        path: Video or folder of grey images, one for each frame of the target; white is object.
        dtype: Type of the masks.

    Returns:
        The target with masks.

    Raises:
        InputError: The file is missing, or the number of masks differs from that of frames.
    """
    place = Path(path)
    if not place.exists():
        raise InputError(f"masks {str(path)!r}: no such file or folder")
    if place.is_dir():
        found = [torch.from_numpy(read_image(p, "L")).to(dtype)[..., None] / 255.0 for p in list_images(place)]
    else:
        frames = read_video(place, dtype=dtype).frames
        assert frames is not None
        found = [frame.mean(dim=-1, keepdim=True) for frame in frames]
    if len(found) != len(target):
        raise InputError(f"masks {str(path)!r}: got {len(found)} masks for {len(target)} frames; expected one each")
    size = target.size
    scaled = found if size is None else [resize(mask, size) for mask in found]
    return replace(target, masks=torch.stack(scaled)[..., 0])


def read_video(
    path: str | Path, *, size: tuple[int, int] | int | None = None, begin: float = 0.0, duration: float | None = None,
    every: int = 1, rate: float | None = None, dtype: torch.dtype = torch.float32,
    reader: VideoReader | str | None = None, crop: tuple[int, int, int, int] | None = None, rotate: int = 0,
    gamma: float = 1.0,
) -> Target:  # fmt: skip
    """Read a video as a target.

    Times are the file's own time stamps, so a video of uneven frame rate keeps its timing. Stamps out of order are
    sorted with a warning.

    Example:
        video = read_video("clip.mp4", size=64, begin=0.5, duration=1.0)
        found = fit(scene, video, {"mass": 2.0})

    Args:
        path: A video or gif, or a folder of images, which needs ``rate``.
        size: (height, width) to scale to [px], or one number: the longer side at most. None keeps the size.
        begin: Time in the video that becomes time 0 [s].
        duration: Length of the part that is read [s]; None reads all.
        every: Keep each n-th frame.
        rate: Frames per second, which replace the time stamps.
        dtype: Type of the frames.
        reader: A ``VideoReader`` or the name of a registered one; None takes "folder" for folders and "video" for
            files.
        crop: (top, left, height, width) [px] of the turned video, before it is scaled.
        rotate: Angle [degrees], counter-clockwise, a multiple of 90.
        gamma: Exponent from numbers to light, about 2.2. Unless it is 1, shrinking averages light, as a coarser sensor
            would.

    Returns:
        The target, without masks.

    Raises:
        InputError: The video is missing, damaged, too large or empty in this part.
    """
    place = given_place("read_video", path)
    if not place.exists():
        raise InputError(f"video {str(path)!r}: no such file or folder")
    if every < 1:
        raise InputError(f"video {place.name!r}: got every={every}; expected 1 or more")
    if not 0.2 <= gamma <= 5.0:
        raise InputError(f"video {place.name!r}: got gamma={gamma:g}; expected a power of 0.2 to 5, such as 2.2")
    chosen = choose_reader(place, reader)
    source = chosen.frames(place, rate)
    end = float("inf") if duration is None else begin + duration
    times: list[float] = []
    frames: list[Tensor] = []
    seen, step, goes_on, shrunk = 0, 0.0, False, 1.0
    limits = ReadingLimits(place.name)
    for time, image in source:
        limits.count_decoded()
        if time > end + 1e-9:
            goes_on = True
            break
        if time < begin - 1e-9:
            continue
        if seen % every == 0:
            step = 1.0 / 255.0 if image.dtype == np.uint8 else 0.0
            part = crop_frame(_check_frame(image, place.name), crop, rotate, place.name)
            frames.append(scale_frame(part, _choose_size(part, size), dtype, gamma))
            shrunk = frames[-1].shape[0] / part.shape[0]
            limits.count_kept(frames[-1].numel() * frames[-1].element_size())
            times.append(max(time - begin, 0.0))
        seen += 1
    if not frames:
        raise InputError(
            f"video {place.name!r}: it has no frames between {begin:g} s and {end:g} s; change begin or duration"
        )
    return Target(torch.tensor(times, dtype=torch.float64), torch.stack(frames), step=step, source=str(path),
                  goes_on=goes_on, chroma=max(1, round(chosen.chroma(place) * shrunk)))  # fmt: skip


def _choose_size(frame: Frame, size: tuple[int, int] | int | None) -> tuple[int, int] | None:
    """Return the size to scale to; a limit on the longer side keeps the shape and enlarges nothing."""
    if not isinstance(size, int):
        return size
    height, width = frame.shape[:2]
    factor = min(1.0, size / max(height, width))
    return max(1, round(height * factor)), max(1, round(width * factor))


def _check_frame(frame: Frame, name: str) -> Frame:
    """Return a reader's frame, or raise unless it is rgb."""
    if frame.ndim != 3 or frame.shape[2] != 3:
        raise InputError(
            f"video {name!r}: its reader gives frames of shape {frame.shape}; expected (height, width, 3) rgb"
        )
    return frame


def read_for_scene(path: str | Path, scene: Scene) -> Target:
    """Read a video at the size, precision and duration of a scene; warn if the video is longer."""
    span = scene.steps * scene.dt - scene.viewpoint.time_offset
    video = read_video(path, size=scene.size, duration=span, dtype=scene.dtype)
    if video.goes_on:
        warn_of_cut(str(path), span)
    return video


def warn_of_cut(video: str, span: float) -> None:
    """Warn that a video is longer than its simulation.

    Args:
        video: Path of the video.
        span: Length of the simulation [s].
    """
    warnings.warn(
        f"{Path(video).name} goes on after {span:g} s, where the simulation ends: what follows is left out. Set "
        "time.duration to simulate all of it, or target.duration to say that this is meant",
        stacklevel=2,
    )
