"""Videos of frames."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from diffloom.interfaces import InputError
from diffloom_fitting.file_writing import new_file

Frames = NDArray[np.uint8]


def write_video(path: Path, frames: Frames, rate: float) -> None:
    """Write (frames, height, width, 3) bytes as an mp4 that any browser plays, or a gif when the name ends so.

    rate: frames a second. Odd sizes get a black row or column, which H.264 needs.
    """
    if frames.ndim != 4 or frames.shape[-1] != 3 or frames.shape[0] == 0:
        raise InputError(f"write_video: got frames of shape {frames.shape}; expected (frames, height, width, 3)")
    if path.suffix.lower() == ".gif":
        _write_gif(path, frames, rate)
        return
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


def _write_gif(path: Path, frames: Frames, rate: float) -> None:
    from PIL import Image

    images = [Image.fromarray(frame) for frame in frames]
    with new_file(path) as beside:
        images[0].save(beside, save_all=True, append_images=images[1:], duration=1000.0 / rate, loop=0)


def frame_rate(times: NDArray[np.float64]) -> float:
    """Frames a second at which frames taken at ``times`` [s] play in true time, kept between 4 and 60."""
    if len(times) < 2:
        return 4.0
    return float(np.clip(1.0 / max(float(np.median(np.diff(times))), 1e-9), 4.0, 60.0))
