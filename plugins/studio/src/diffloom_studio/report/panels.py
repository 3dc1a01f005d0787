"""Panels of target, start and fit side by side: the frames, a video of them, and a strip, both with times."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont
from torch import Tensor

from diffloom.interfaces import Camera, NoGradient, SimulationError
from diffloom_fitting import Experiment
from diffloom_fitting.scene import Scene, sample_times
from diffloom_studio.playback import (
    PlaybackBody,
    make_body,
    place_camera_at,
    play,
    read_surface_colours,
    read_true_values,
)
from diffloom_studio.report.media import Frames, to_bytes

MOST = 90  # frames in a video


@dataclass(frozen=True)
class Panels:
    """Frames of target, start and fit, each (frames, height, width, 3) bytes, at ``times`` [s] of the video.

    target is None when it has no images. bodies: the bodies drawn, by name: "start", "fit", and "truth" where all of it
    is known. camera: that of the fit. offset: the simulation's time minus the video's [s].
    """

    times: NDArray[np.float64]
    target: Frames | None
    guess: Frames
    fit: Frames
    bodies: Mapping[str, PlaybackBody]
    camera: Camera
    offset: float = 0.0


def render_panels(experiment: Experiment, z: Tensor) -> dict[str, Panels]:
    """Draw the start and the result at the target's times, including the holdout; for each view, by label."""
    found = {}
    for label, view in experiment.scene.viewpoints.items():
        scene = experiment.scene.select_view(label)
        times, wanted = _read_target_frames(experiment, label)
        moments = times + view.time_offset
        drawn, bodies = [], {}
        for name, point in (("start", experiment.start(0)), ("fit", z)):
            with torch.no_grad():
                values = experiment.layout.decode(point)
                frames, bodies[name] = _draw(name, scene, values, moments)
            drawn.append(frames)
        bodies |= _play_truth(experiment, scene, moments)
        camera = place_camera_at(scene, label, values, times)
        found[label] = Panels(times.numpy(), wanted, drawn[0], drawn[1], bodies, camera, view.time_offset)
    return found


def _draw(name: str, scene: Scene, values: Mapping[str, Tensor], moments: Tensor) -> tuple[Frames, PlaybackBody]:
    """Return images as the camera records them, over its exposure and row by row, and the body in the middle of
    each.
    """
    seen = scene.get_exposure_times(moments, values).clamp(0.0, scene.steps * scene.dt)
    sampling = sample_times(seen, scene.dt, scene.steps)
    made = scene.rollout(values, sampling.save, NoGradient())
    image, _ = scene.draw(made.trajectory, made.params, values, ("rgba",), sampling)
    frames: Frames = image.bytes()[..., :3].numpy()
    if len(seen) > len(moments):
        return frames, play(name, scene, values, seen.unflatten(0, (len(moments), -1)).mean(dim=1))
    surface = scene.model.surface(made.trajectory, made.params)
    return frames, make_body(name, seen, sampling, made, surface, read_surface_colours(scene, values, surface))


def _play_truth(experiment: Experiment, scene: Scene, moments: Tensor) -> dict[str, PlaybackBody]:
    """Return the body with the true values, where all of them are known and the simulation succeeds."""
    values = read_true_values(experiment)
    try:
        return {} if values is None else {"truth": play("truth", scene, values, moments)}
    except SimulationError:
        return {}


def _read_target_frames(experiment: Experiment, label: str) -> tuple[Tensor, Frames | None]:
    """Return times and frames of a view's target and holdout."""
    holdout = None if experiment.holdout is None else experiment.holdout.by_view().get(label)
    parts = [experiment.target.by_view()[label], *([] if holdout is None else [holdout])]
    times = torch.cat([part.times for part in parts])
    order = times.argsort()
    if len(order) > MOST:
        order = order[torch.linspace(0, len(order) - 1, MOST).round().long()]
    images = [part.frames if part.frames is not None else part.masks for part in parts]
    if any(p is None for p in images):
        return times[order], None
    return times[order], np.concatenate([to_bytes(part) for part in images if part is not None])[order.numpy()]


PANEL = 240  # least height of a panel of the video [px]
CELL = 160  # least height of a frame of the strip [px]
LETTERS = 16  # height of letters in a video, and in a strip of PAGE pixels across [px]
HEAD = LETTERS + 10  # the row of times above such a strip [px]
PAGE = 1100  # width at which a page shows any strip [px]


def join_panels(panels: Panels, label: str = "") -> Frames:
    """Return one video of labelled panels, with the time in the first; label: of the view."""
    named = [(_name_target(label), panels.target), ("start", panels.guess), ("fit", panels.fit)]
    columns = [(name, enlarge(frames)) for name, frames in named if frames is not None]
    video = np.concatenate([frames for _, frames in columns], axis=2)
    parts = np.split(video, len(columns), axis=2)
    for (name, _), part in zip(columns, parts, strict=True):
        _label(name, part)
    for frame, time in zip(parts[0], panels.times, strict=True):
        ink = _draw_letters(f"{time:.{count_digits(panels.times)}f} s")
        _write(frame[-min(len(ink), len(frame)) :], ink)
    return video


def _name_target(label: str) -> str:
    """Return the name of the target's row or column."""
    return f"{label}: target" if label else "target"


def draw_strip(panels: Panels, label: str = "", count: int = 7) -> Frames:
    """Return (height, width, 3): the times, then a row each of target, start, fit and ten times the difference.

    label: of the view.
    """
    index = np.unique(np.linspace(0, len(panels.times) - 1, count).round().astype(int))
    rows = [(_name_target(label), panels.target), ("start", panels.guess), ("fit", panels.fit)]
    if panels.target is not None:
        apart = np.abs(panels.target.astype(np.int16) - panels.fit.astype(np.int16))
        rows.append(("difference x 10", np.clip(10 * apart, 0, 255).astype(np.uint8)))
    drawn = [(name, np.concatenate(list(enlarge(f[index], CELL)), axis=1)) for name, f in rows if f is not None]
    # A wide strip is shown smaller, so its letters are larger.
    size = max(LETTERS, round(LETTERS * drawn[0][1].shape[1] / PAGE))
    lines = [label_frames(name, row[None], size)[0] for name, row in drawn]
    if len(index) == 1:  # a single frame, as of a goal: below each other its rows would fill pages
        lines = [np.concatenate(lines, axis=1)]
    width = lines[0].shape[1] // len(index)
    head = np.zeros((size + HEAD - LETTERS, lines[0].shape[1], 3), dtype=np.uint8)
    for k, time in enumerate(panels.times[index]):
        _write(head[:, k * width : (k + 1) * width], _draw_letters(f"{time:.{count_digits(panels.times)}f} s", size))
    return np.concatenate([head, *lines], axis=0)


def count_digits(times: NDArray[np.float64]) -> int:
    """Return the number of decimal places that distinguish frames at ``times`` [s]."""
    step = float(np.min(np.diff(times))) if len(times) > 1 else 0.1
    return int(np.clip(np.ceil(-np.log10(max(step, 1e-6))) + 1, 1, 6))


def enlarge(frames: Frames, least: int = PANEL) -> Frames:
    """Return frames at least ``least`` pixels high: each pixel becomes a square."""
    factor = max(1, -(-least // frames.shape[1]))
    # Columns first, while the array is small; then whole rows are copied.
    return np.repeat(np.repeat(frames, factor, axis=2), factor, axis=1)


def label_frames(text: str, frames: Frames, size: int = LETTERS) -> Frames:
    """Return frames with a caption in the upper left corner. size: of its letters [px]."""
    out = frames.copy()
    _label(text, out, size)
    return out


def _label(text: str, frames: Frames, size: int = LETTERS) -> None:
    """Write a caption into the upper left corner of frames, and draw their right border."""
    _write(frames, _draw_letters(text, size))
    frames[:, :, -1] = 60


def _draw_letters(text: str, size: int = LETTERS) -> NDArray[np.float64]:
    """Return a text as an image (height, width, 1), 1 where there is ink."""
    font = _load_font(size)
    left, _, right, bottom = font.getbbox(text)
    patch = Image.new("L", (int(right) + 10, int(bottom) + 8), 0)
    ImageDraw.Draw(patch).text((5 - left, 3), text, fill=255, font=font)
    return np.asarray(patch, dtype=np.float64)[..., None] / 255.0


@functools.cache
def _load_font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size=size)


def _write(frames: Frames, ink: NDArray[np.float64]) -> None:
    """Draw a text over the upper left corner of ``frames`` (..., height, width, 3), in place."""
    height, width = min(ink.shape[0], frames.shape[-3]), min(ink.shape[1], frames.shape[-2])
    under = frames[..., :height, :width, :]
    seen = ink[:height, :width]
    under[:] = (0.45 * under.astype(np.float64) * (1.0 - seen) + 255.0 * seen).astype(np.uint8)
