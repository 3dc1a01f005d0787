"""Target, guess and fit side by side, as a video and as a strip."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont
from torch import Tensor

from diffloom.interfaces import NoGradient
from diffloom_fitting.experiment import Experiment
from diffloom_fitting.report.video import Frames

PANEL = 240  # a panel is at least this high [px]
MOST = 90  # frames in a video


@dataclass(frozen=True)
class Panels:
    """Frames (frames, height, width, 3) bytes of each, at ``times`` [s]; target is None when it has no images."""

    times: NDArray[np.float64]
    target: Frames | None
    guess: Frames
    fit: Frames


def render_panels(experiment: Experiment, z: Tensor) -> dict[str, Panels]:
    """Draw the start and the result at the target's times, those kept aside included; for each view, by label."""
    found = {}
    for label, view in experiment.scene.viewpoints.items():
        scene = experiment.scene.seen_from(label)
        times, wanted = _target_frames(experiment, label)
        drawn = []
        for point in (experiment.start(0), z):
            with torch.no_grad():
                values = experiment.layout.decode(point)
                image = scene.render(values, times + view.time_offset, ("rgba",), NoGradient()).image
            assert image is not None
            drawn.append(image.bytes()[..., :3].numpy())
        found[label] = Panels(times.numpy(), wanted, drawn[0], drawn[1])
    return found


def _target_frames(experiment: Experiment, label: str) -> tuple[Tensor, Frames | None]:
    holdout = None if experiment.holdout is None else experiment.holdout.by_view().get(label)
    parts = [experiment.target.by_view()[label], *([] if holdout is None else [holdout])]
    times = torch.cat([part.times for part in parts])
    order = times.argsort()
    if len(order) > MOST:
        order = order[torch.linspace(0, len(order) - 1, MOST).round().long()]
    images = [part.frames if part.frames is not None else part.masks for part in parts]
    if any(p is None for p in images):
        return times[order], None
    frames = torch.cat([p if p.dim() == 4 else p[..., None].expand(*p.shape, 3) for p in images if p is not None])
    shown = (frames[order][..., :3].clamp(0.0, 1.0) * 255.0).round().to(torch.uint8)
    return times[order], shown.numpy()


def side_by_side(panels: Panels, label: str = "") -> Frames:
    """One video of labelled panels; label: of the view."""
    named = [(_first(label), panels.target), ("start", panels.guess), ("fit", panels.fit)]
    columns = [labelled(name, enlarged(frames)) for name, frames in named if frames is not None]
    return np.concatenate(columns, axis=2)


def _first(label: str) -> str:
    """What the row or column of the target is called."""
    return f"{label}: target" if label else "target"


def strip(panels: Panels, label: str = "", count: int = 7) -> Frames:
    """(height, width, 3): a row each of target, start, fit and ten times the difference, frames left to right.

    label: of the view.
    """
    index = np.unique(np.linspace(0, len(panels.times) - 1, count).round().astype(int))
    rows = [(_first(label), panels.target), ("start", panels.guess), ("fit", panels.fit)]
    if panels.target is not None:
        apart = np.abs(panels.target.astype(np.int16) - panels.fit.astype(np.int16))
        rows.append(("difference x 10", np.clip(10 * apart, 0, 255).astype(np.uint8)))
    lines = []
    for name, frames in rows:
        if frames is None:
            continue
        row = np.concatenate(list(enlarged(frames[index], 160)), axis=1)
        lines.append(labelled(name, row[None])[0])
    # A single frame, as of a goal, has its rows beside each other: below each other they would fill pages.
    return np.concatenate(lines, axis=1 if len(index) == 1 else 0)


def enlarged(frames: Frames, least: int = PANEL) -> Frames:
    """Frames with every pixel repeated until they are at least so high [px]."""
    factor = max(1, -(-least // frames.shape[1]))
    return np.repeat(np.repeat(frames, factor, axis=1), factor, axis=2)


def labelled(text: str, frames: Frames) -> Frames:
    """Frames with a caption in the upper left corner."""
    font = ImageFont.load_default(size=16)
    left, _, right, bottom = font.getbbox(text)
    patch = Image.new("L", (int(right) + 10, int(bottom) + 8), 0)
    ImageDraw.Draw(patch).text((5 - left, 3), text, fill=255, font=font)
    ink = np.asarray(patch, dtype=np.float64)[..., None] / 255.0
    height, width = min(ink.shape[0], frames.shape[1]), min(ink.shape[1], frames.shape[2])
    ink = ink[:height, :width]
    out = frames.copy()
    under = out[:, :height, :width].astype(np.float64)
    out[:, :height, :width] = (0.45 * under * (1.0 - ink) + 255.0 * ink).astype(np.uint8)
    out[:, :, -1] = 60
    return out
