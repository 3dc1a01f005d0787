"""Files of frames and states: videos, contact sheets and NumPy archives."""

from __future__ import annotations

import io
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

from diffloom.interfaces import InputError, Trajectory
from diffloom_fitting import Target, View
from diffloom_fitting.files import explain_errors, new_file, write_bytes
from diffloom_fitting.validation import check_images, check_path, check_real, describe_value

Frames = NDArray[np.uint8]
#: Settings of Pillow by the ending of an endless animation.
ANIMATED: dict[str, dict[str, Any]] = {
    ".gif": {"format": "GIF"},
    ".webp": {"format": "WEBP", "quality": 70, "method": 4},
}


def find_images(what: str, shown: object) -> tuple[Tensor, NDArray[np.float64] | None]:
    """Return images in 0..1, and their times where these are known.

    Args:
        what: Name of the caller in errors.
        shown: A target, a view, a tensor or an array of images, images of PIL, or a list of these.

    Returns:
        (frames, height, width[, 3 or 4]), and times (frames,) [s] or None.

    Raises:
        InputError: There are no images.
    """
    times = getattr(shown, "times", None)
    if isinstance(shown, Target):
        images = shown.frames if shown.frames is not None else shown.masks
    elif isinstance(shown, View):
        images = None if shown.image is None else shown.image.rgba
    else:
        images = check_images(f"{what}: frames", shown, (3, 4))[0]
    if images is None or not len(images):
        raise InputError(f"{what}: got {describe_value(shown)}, which has no images")
    return images, None if times is None else times.detach().numpy()


def write_video(path: str | Path, frames: object, rate: float | None = None) -> Path:
    """Write an mp4 that any browser plays, an animated WebP or a gif.

    Odd sizes of an mp4 get a black row or column, because H.264 needs even ones.

    Args:
        path: File to write; the ending .webp or .gif selects these formats; missing folders are made.
        frames: (frames, height, width[, 3 or 4]) as bytes or in 0..1, as a tensor or an array; images of PIL; a target
            or a view.
        rate: Frames per second; None for real time where the times are known, else 30.

    Returns:
        The path.
    """
    if not isinstance(frames, np.ndarray) or frames.dtype != np.uint8 or frames.ndim != 4 or frames.shape[-1] != 3:
        images, times = find_images("write_video", frames)
        frames = to_bytes(images)
        rate = find_frame_rate(times) if rate is None and times is not None else rate
    if frames.shape[0] == 0:
        raise InputError(f"write_video: got frames of shape {frames.shape}; expected (frames, height, width, 3)")
    rate = 30.0 if rate is None else check_real("write_video: rate [frames/s]", rate, above=0.0)
    path = check_path("write_video: path", path)
    with explain_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix.lower() in ANIMATED:
        _write_animation(path, frames, rate)
        return path
    import av

    odd = frames.shape[1] % 2, frames.shape[2] % 2
    even = np.pad(frames, ((0, 0), (0, odd[0]), (0, odd[1]), (0, 0))) if any(odd) else frames
    with new_file(path) as beside, av.open(str(beside), "w", format="mp4", options={"movflags": "+faststart"}) as out:
        stream = out.add_stream("libx264", rate=Fraction(rate).limit_denominator(1000))
        stream.height, stream.width = even.shape[1], even.shape[2]
        stream.pix_fmt = "yuv420p"
        stream.options = {"crf": "16", "preset": "veryfast", "threads": "1"}
        for image in even:
            out.mux(stream.encode(av.VideoFrame.from_ndarray(np.ascontiguousarray(image), format="rgb24")))
        out.mux(stream.encode())
    return path


def _write_animation(path: Path, frames: Frames, rate: float) -> None:
    """Write frames as an endless gif or WebP."""
    images = [Image.fromarray(frame) for frame in frames]
    settings = ANIMATED[path.suffix.lower()]
    with new_file(path) as beside:
        images[0].save(
            beside, save_all=True, append_images=images[1:], duration=round(1000.0 / rate), loop=0, **settings
        )


def to_bytes(images: Tensor) -> Frames:
    """Return images or masks (frames, height, width[, channels]) in 0..1 as bytes (frames, height, width, 3)."""
    shown = images[..., :3] if images.dim() == 4 else images[..., None].expand(*images.shape, 3)
    found: Frames = (shown.detach().clamp(0.0, 1.0) * 255.0).round().to(torch.uint8).numpy()
    return found


def find_frame_rate(times: NDArray[np.float64]) -> float:
    """Return the frame rate [1/s] at which frames of ``times`` [s] play in real time, clamped to 4 to 60."""
    if len(times) < 2:
        return 4.0
    return float(np.clip(1.0 / max(float(np.median(np.diff(times))), 1e-9), 4.0, 60.0))


def write_frames(path: str | Path, frames: Tensor, columns: int | None = None, rows: int | None = None) -> Path:
    """Write frames as one PNG, row by row.

    Args:
        path: File to write; missing folders are made.
        frames: (frames, height, width, 3 or 4), 0..1.
        columns: Number of frames in a row; default all.
        rows: Number of rows, instead of ``columns``.

    Returns:
        The path.
    """
    if not isinstance(frames, Tensor) or frames.dim() != 4 or frames.shape[-1] not in (3, 4) or not len(frames):
        got = tuple(frames.shape) if isinstance(frames, Tensor) else type(frames).__name__
        raise InputError(f"write_frames: got {got}; expected a tensor (frames, height, width, 3 or 4) of 0..1")
    count, height, width, _ = frames.shape
    wide = columns or (-(-count // rows) if rows else count)
    high = -(-count // wide)
    tiles = np.zeros((high * wide, height, width, 3), dtype=np.uint8)
    tiles[:count] = to_bytes(frames)
    sheet = tiles.reshape(high, wide, height, width, 3).transpose(0, 2, 1, 3, 4).reshape(high * height, wide * width, 3)
    buffer = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(sheet)).save(buffer, format="PNG", optimize=True)
    place = Path(path)
    with explain_errors(place):
        place.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(place, buffer.getvalue())
    return place


def write_states(path: Path, trajectory: Trajectory) -> None:
    """Write q (frames, nodes, dq), u (frames, nodes, du) and times (frames,) [s]; of several node sets "ball.q" etc."""
    saved: dict[str, Any] = {"times": trajectory.times.cpu().numpy()}
    for name, (q, u) in trajectory.sets.items():
        before = f"{name}." if name else ""
        saved |= {f"{before}q": q.cpu().numpy(), f"{before}u": u.cpu().numpy()}
    with new_file(path) as beside:
        np.savez_compressed(beside, **saved)
