"""Drawings for a terminal: images of half blocks, and the curve of a loss."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from rich.color import Color
from rich.style import Style
from rich.text import Text

from diffloom.interfaces import InputError, SimulationError
from diffloom_fitting import AbstractExperiment, Experiment
from diffloom_fitting.loop import FitState

BLOCKS = " ▁▂▃▄▅▆▇█"
COUNT, HEIGHT = 5, 16  # frames of a strip, and the height of each [px], two of which make a line
PAUSE, SHARE = 3.0, 20.0  # least time between two strips [s], and in units of the time that a strip takes


def draw_curve(losses: Sequence[float], width: int = 60, lines: int = 3) -> Text:
    """Return a curve of the logarithm of losses, one column each; many losses share columns by their least.

    Args:
        losses: Losses in their order; numbers that are not finite or not above 0 are left out.
        width: Most columns.
        lines: Height of the curve.

    Returns:
        The curve, with the first and the last loss beside it.
    """
    known = [math.log10(loss) for loss in losses if math.isfinite(loss) and loss > 0.0]
    if len(known) < 2:
        return Text()
    parts = np.array_split(np.array(known), min(width, len(known)))
    heights = np.array([part.min() for part in parts])
    low, high = float(heights.min()), float(heights.max())
    levels = np.round((heights - low) / max(high - low, 1e-12) * (8 * lines - 1)).astype(int) + 1
    rows = []
    for line in reversed(range(lines)):
        rows.append("".join(BLOCKS[min(max(level - 8 * line, 0), 8)] for level in levels))
    rows[0] += f"  {10.0**high:.1e}"
    rows[-1] += f"  {10.0**low:.1e}"
    return Text("\n".join(rows), style="cyan", no_wrap=True)


def draw_half_blocks(image: NDArray[np.uint8]) -> Text:
    """Return an image as characters of two pixels each, one above the other.

    Args:
        image: (height, width, 3) bytes; the last row of an odd height is left out.

    Returns:
        Lines of ``width`` characters.
    """
    text = Text(no_wrap=True)
    for row in range(0, len(image) - 1, 2):
        for upper, lower in zip(image[row].tolist(), image[row + 1].tolist(), strict=True):
            text.append("▀", Style(color=Color.from_rgb(*upper), bgcolor=Color.from_rgb(*lower)))
        text.append("\n")
    return text


def shrink(images: NDArray[np.float64], height: int = HEIGHT) -> NDArray[np.uint8]:
    """Return images (frames, height, width, 3) of 0..1 beside each other as bytes, each with the mean of its pixels.

    Args:
        images: Images.
        height: Height of each [px].

    Returns:
        (height, frames * width, 3).
    """
    width = max(1, round(height * images.shape[2] / images.shape[1]))
    planes = torch.as_tensor(images).permute(0, 3, 1, 2)
    small = torch.nn.functional.adaptive_avg_pool2d(planes, (height, width)).permute(2, 0, 3, 1)
    pixels = (small.clamp(0.0, 1.0) * 255.0).round().to(torch.uint8).numpy()
    return np.asarray(pixels.reshape(height, -1, 3))


class Strip:
    """Some frames of the video, and below them those of the best values so far.

    Drawing costs a simulation, so a strip waits until it takes a small share of the time.

    Args:
        experiment: Experiment that is fitted.
    """

    def __init__(self, experiment: AbstractExperiment) -> None:
        self._experiment = experiment if isinstance(experiment, Experiment) else None
        self._next = 0.0
        self.text = Text()
        if self._experiment is None:
            return
        label = next(iter(self._experiment.scene.viewpoints))
        self._scene = self._experiment.scene.select_view(label)
        target = self._experiment.target.by_view()[label]
        if target.frames is None:
            self._experiment = None
            return
        index = torch.linspace(0, len(target) - 1, min(COUNT, len(target))).round().long()
        self._times = target.times[index] + self._scene.viewpoint.time_offset
        self._video = shrink(target.frames[index][..., :3].double().numpy())

    def update(self, state: FitState) -> None:
        """Draw the strip anew if it is time to.

        Args:
            state: State of the fit.
        """
        begin = time.monotonic()
        if self._experiment is None or begin < self._next:
            return
        z = state.best[1] if state.best is not None else state.z
        try:
            with torch.no_grad():
                values = self._experiment.layout.decode(z.detach())
                times = self._times.clamp(0.0, self._scene.steps * self._scene.dt)
                image = self._scene.render(values, times, ("rgba",)).image
        except (SimulationError, InputError):
            return
        assert image is not None
        drawn = shrink(image.rgba[..., :3].double().numpy()) if image.rgba is not None else self._video
        self.text = Text.assemble("video\n", draw_half_blocks(self._video), "fit\n", draw_half_blocks(drawn))
        now = time.monotonic()
        self._next = now + max(PAUSE, SHARE * (now - begin))
