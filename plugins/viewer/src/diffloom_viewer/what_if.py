"""Sliders for the unknowns, the loss at their values, and the image they give beside the video's."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from diffloom.interfaces import InputError, SimulationError
from diffloom_fitting import Experiment
from diffloom_fitting.numbers import format_number
from diffloom_viewer.drawing import CameraTrack

MOST = 6  # largest size of an unknown that gets sliders
WIDER = 2.0  # factor by which a slider reaches beyond all known values
STEPS = 200  # least number of steps of a slider
LEAST = 120  # least height of an image in the panel [px]


@dataclass(frozen=True)
class Knob:
    """A slider for entry ``index`` of the unknown ``name``."""

    name: str
    index: int
    label: str
    low: float
    high: float
    step: float
    value: float


def knobs(experiment: Experiment, values: Mapping[str, Mapping[str, Tensor]], first: str) -> list[Knob]:
    """Return sliders for the unknowns, from half the smallest to twice the largest known value of a positive quantity.

    ``first`` names the values they begin with.
    """
    found = []
    for slot in experiment.layout.slots:
        known = [values[name][slot.name].detach().double().flatten() for name in values]
        if slot.size > MOST or len({len(one) for one in known}) > 1 or len(known[0]) > MOST:
            continue
        begin = values[first][slot.name].detach().double().flatten()
        for index in range(len(begin)):
            low, high, step = _choose_range([float(one[index]) for one in known])
            unit = f" [{slot.unit}]" if slot.unit else ""
            label = slot.name + _name_entry(index, len(begin)) + unit
            found.append(Knob(slot.name, index, label, low, high, step, float(begin[index])))
    return found


def _name_entry(index: int, count: int) -> str:
    """Return " x", " y" or " z" for the entries of a vector, a number for those of other lists, "" for a number."""
    return "" if count == 1 else f" {'xyz'[index]}" if count == 3 else f" {index}"


def _choose_range(known: list[float]) -> tuple[float, float, float]:
    """Return low end, high end and step of a slider, all round numbers."""
    least, most = min(known), max(known)
    if least > 0.0:
        low, high = least / WIDER, most * WIDER
    else:
        reach = max(most - least, abs(least), abs(most)) or 1.0
        low, high = least - reach, most + reach
    step = 10.0 ** math.floor(math.log10((high - low) / STEPS))
    tidy = 10.0 * step
    return math.floor(low / tidy) * tidy if low < 0.0 or low > tidy else step, math.ceil(high / tidy) * tidy, step


def apply_settings(values: Mapping[str, Tensor], settings: Mapping[tuple[str, int], float]) -> dict[str, Tensor]:
    """Return ``values`` with the entries that sliders were set to."""
    found = {name: value.detach().clone() for name, value in values.items()}
    with torch.no_grad():
        for (name, index), value in settings.items():
            found[name].view(-1)[index] = value
    return found


class WhatIf:
    """Controls of the folder "what if".

    Args:
        gui: The server's controls.
        experiment: Experiment whose unknowns the sliders set.
        values: Known values by name.
        track: First camera with the frames of its video, or None.
    """

    def __init__(
        self, gui: Any, experiment: Experiment, values: Mapping[str, Mapping[str, Tensor]], track: CameraTrack | None
    ) -> None:
        self._experiment, self._track = experiment, track
        self.base = next(name for name in ("fit", "start") if name in values)
        self._values = values[self.base]
        self._frames: NDArray[np.uint8] | None = None
        self.sliders: dict[tuple[str, int], Any] = {}
        with gui.add_folder("what if"):
            for knob in knobs(experiment, values, self.base):
                slider = gui.add_slider(knob.label, knob.low, knob.high, knob.step, knob.value)
                self.sliders[knob.name, knob.index] = slider
            self.back = gui.add_button(f"back to {self.base}")
            self.loss = gui.add_text("loss", "", disabled=True)
            self.message = gui.add_text("message", "", disabled=True, visible=False)
            blank = np.zeros((LEAST, 2 * LEAST, 3), dtype=np.uint8)
            self.picture = gui.add_image(blank, label="video and what if", format="png", visible=False)
        self._known_loss = self._find_loss(self._values)
        self.loss.value = self._known_loss

    def read(self) -> dict[str, Tensor]:
        """Return the values that the sliders are set to, kept within their ranges."""
        settings = {
            place: min(max(float(slider.value), slider.min), slider.max) for place, slider in self.sliders.items()
        }
        return apply_settings(self._values, settings)

    def reset(self) -> None:
        """Set the sliders back to the values they began with."""
        for (name, index), slider in self.sliders.items():
            slider.value = float(self._values[name].detach().flatten()[index])
        self.loss.value, self._frames = self._known_loss, None
        self.say("")

    def judge(self, values: Mapping[str, Tensor]) -> None:
        """Show the loss at ``values`` beside the known one, and draw the video that they give."""
        self.loss.value = f"{self._find_loss(values)} ({self.base}: {self._known_loss})"
        self._frames = self._draw(values)

    def say(self, text: str) -> None:
        """Show a message; an empty one hides its line."""
        self.message.value, self.message.visible = text[:200], bool(text)

    def show(self, time: float) -> None:
        """Show the video's frame nearest to ``time`` [s], and beside it the one of the sliders' values."""
        track = self._track
        self.picture.visible = track is not None and track.images is not None and self._frames is not None
        if track is None or track.images is None or self._frames is None:
            return
        k = track.at(time)
        pair = [np.repeat(np.repeat(one, f, axis=0), f, axis=1) for one in (track.images[k], self._frames[k])
                for f in [max(1, -(-LEAST // one.shape[0]))]]  # fmt: skip
        self.picture.image = np.concatenate(pair, axis=1)

    def _find_loss(self, values: Mapping[str, Tensor]) -> str:
        """Return the loss at ``values`` as text; "none" where they cannot be simulated or lie out of bounds."""
        try:
            z = self._experiment.layout.encode(values)
            return format_number(self._experiment.objective().values_at([z])[0].value, 4)
        except (SimulationError, InputError):
            return "none"

    def _draw(self, values: Mapping[str, Tensor]) -> NDArray[np.uint8] | None:
        """Return the frames that ``values`` give at the times of the video."""
        if self._track is None or self._track.images is None:
            return None
        label = next(iter(self._experiment.scene.viewpoints))
        scene = self._experiment.scene.select_view(label)
        times = torch.from_numpy(self._track.times).clamp(0.0, scene.steps * scene.dt)
        with torch.no_grad():
            image = scene.render(dict(values), times, ("rgba",)).image
        return None if image is None else np.asarray(image.bytes()[..., :3].numpy())
