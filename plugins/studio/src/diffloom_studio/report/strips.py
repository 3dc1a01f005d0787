"""Panels as images that need no page: one video side by side, and one strip, both with times."""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from diffloom_studio.report.panels import Panels
from diffloom_studio.report.video import Frames

PANEL = 240  # a panel of the video is at least this high [px]
CELL = 160  # a frame of the strip [px]
LETTERS = 16  # height of letters in a video, and in a strip of PAGE pixels across [px]
HEAD = LETTERS + 10  # the row of times above such a strip [px]
PAGE = 1100  # across: what a page shows of a strip, however wide it is [px]


def side_by_side(panels: Panels, label: str = "") -> Frames:
    """One video of labelled panels, with the time in the first; label: of the view."""
    named = [(_first(label), panels.target), ("start", panels.guess), ("fit", panels.fit)]
    columns = [(name, enlarged(frames)) for name, frames in named if frames is not None]
    video = np.concatenate([frames for _, frames in columns], axis=2)
    parts = np.split(video, len(columns), axis=2)
    for (name, _), part in zip(columns, parts, strict=True):
        _label(name, part)
    for frame, time in zip(parts[0], panels.times, strict=True):
        ink = _letters(f"{time:.{digits(panels.times)}f} s")
        _write(frame[-min(len(ink), len(frame)) :], ink)
    return video


def _first(label: str) -> str:
    """What the row or column of the target is called."""
    return f"{label}: target" if label else "target"


def strip(panels: Panels, label: str = "", count: int = 7) -> Frames:
    """(height, width, 3): the times, then a row each of target, start, fit and ten times the difference.

    label: of the view.
    """
    index = np.unique(np.linspace(0, len(panels.times) - 1, count).round().astype(int))
    rows = [(_first(label), panels.target), ("start", panels.guess), ("fit", panels.fit)]
    if panels.target is not None:
        apart = np.abs(panels.target.astype(np.int16) - panels.fit.astype(np.int16))
        rows.append(("difference x 10", np.clip(10 * apart, 0, 255).astype(np.uint8)))
    drawn = [(name, np.concatenate(list(enlarged(f[index], CELL)), axis=1)) for name, f in rows if f is not None]
    # A wide strip is shown smaller, so its letters are larger.
    size = max(LETTERS, round(LETTERS * drawn[0][1].shape[1] / PAGE))
    lines = [labelled(name, row[None], size)[0] for name, row in drawn]
    if len(index) == 1:  # a single frame, as of a goal: below each other its rows would fill pages
        lines = [np.concatenate(lines, axis=1)]
    width = lines[0].shape[1] // len(index)
    head = np.zeros((size + HEAD - LETTERS, lines[0].shape[1], 3), dtype=np.uint8)
    for k, time in enumerate(panels.times[index]):
        _write(head[:, k * width : (k + 1) * width], _letters(f"{time:.{digits(panels.times)}f} s", size))
    return np.concatenate([head, *lines], axis=0)


def digits(times: NDArray[np.float64]) -> int:
    """Decimal places that tell frames at ``times`` [s] apart."""
    step = float(np.min(np.diff(times))) if len(times) > 1 else 0.1
    return int(np.clip(np.ceil(-np.log10(max(step, 1e-6))) + 1, 1, 6))


def enlarged(frames: Frames, least: int = PANEL) -> Frames:
    """Frames at least ``least`` pixels high: each pixel becomes a square."""
    factor = max(1, -(-least // frames.shape[1]))
    # Across first, as long as it is small: afterwards whole rows are copied.
    return np.repeat(np.repeat(frames, factor, axis=2), factor, axis=1)


def labelled(text: str, frames: Frames, size: int = LETTERS) -> Frames:
    """Frames with a caption in the upper left corner. size: of its letters [px]."""
    out = frames.copy()
    _label(text, out, size)
    return out


def _label(text: str, frames: Frames, size: int = LETTERS) -> None:
    """Write a caption into the upper left corner of frames, and their right border."""
    _write(frames, _letters(text, size))
    frames[:, :, -1] = 60


def _letters(text: str, size: int = LETTERS) -> NDArray[np.float64]:
    """(height, width, 1): a text, 1 where there is ink."""
    font = _font(size)
    left, _, right, bottom = font.getbbox(text)
    patch = Image.new("L", (int(right) + 10, int(bottom) + 8), 0)
    ImageDraw.Draw(patch).text((5 - left, 3), text, fill=255, font=font)
    return np.asarray(patch, dtype=np.float64)[..., None] / 255.0


@functools.cache
def _font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size=size)


def _write(frames: Frames, ink: NDArray[np.float64]) -> None:
    """Lay a text over the upper left corner of ``frames`` (..., height, width, 3), in place."""
    height, width = min(ink.shape[0], frames.shape[-3]), min(ink.shape[1], frames.shape[-2])
    under = frames[..., :height, :width, :]
    seen = ink[:height, :width]
    under[:] = (0.45 * under.astype(np.float64) * (1.0 - seen) + 255.0 * seen).astype(np.uint8)
