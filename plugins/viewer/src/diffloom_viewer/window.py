"""The page of the viewer: a run played back, or a fit watched while it runs; a slider for each unknown number."""

from __future__ import annotations

import math
import threading
import time as clock
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from diffloom.interfaces import InputError, SimulationError
from diffloom_fitting import Experiment
from diffloom_fitting.loop import FitState, Record
from diffloom_studio.playback import Playback, PlaybackBody, make_playback, play, scale_colours
from diffloom_viewer.drawing import SceneDrawing, recorders

MOST = 6  # numbers of one unknown that get a slider
WIDER = 2.0  # how far beyond all known values a slider reaches
STEPS = 200  # at least, from one end to the other


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
    """Sliders from half the smallest to twice the largest known value, within the bounds of a positive quantity;
    ``first`` names the values they begin with."""
    found = []
    for slot in experiment.layout.slots:
        known = [values[name][slot.name].detach().double().flatten() for name in values]
        if slot.size > MOST or len({len(one) for one in known}) > 1 or len(known[0]) > MOST:
            continue
        begin = values[first][slot.name].detach().double().flatten()
        for index in range(len(begin)):
            low, high, step = _range([float(one[index]) for one in known])
            unit = f" [{slot.unit}]" if slot.unit else ""
            label = slot.name + (f" {index}" if len(begin) > 1 else "") + unit
            found.append(Knob(slot.name, index, label, low, high, step, float(begin[index])))
    return found


def _range(known: list[float]) -> tuple[float, float, float]:
    """Low and high end and step, round numbers all."""
    least, most = min(known), max(known)
    if least > 0.0:
        low, high = least / WIDER, most * WIDER
    else:
        reach = max(most - least, abs(least), abs(most)) or 1.0
        low, high = least - reach, most + reach
    step = 10.0 ** math.floor(math.log10((high - low) / STEPS))
    tidy = 10.0 * step
    return math.floor(low / tidy) * tidy if low < 0.0 or low > tidy else step, math.ceil(high / tidy) * tidy, step


def turned(values: Mapping[str, Tensor], settings: Mapping[tuple[str, int], float]) -> dict[str, Tensor]:
    """``values`` with the entries that sliders were set to."""
    found = {name: value.detach().clone() for name, value in values.items()}
    with torch.no_grad():
        for (name, index), value in settings.items():
            found[name].view(-1)[index] = value
    return found


YOURS = "yours"


def colour_bar() -> NDArray[np.uint8]:
    """(height, width, 3): the colours of a scale from its lower to its upper end."""
    return np.repeat(scale_colours(np.linspace(0.0, 1.0, 256), 1.0)[None], 14, axis=0)


class ViewerWindow:
    """A page that shows ``playback``; ``address`` is where. host: "127.0.0.1" for this machine alone.

    bodies: by name. The sliders make a further one, "yours", as soon as one is moved.
    """

    def __init__(self, playback: Playback, *, host: str = "127.0.0.1", port: int = 8080, frames: int = 61) -> None:
        try:
            import viser
        except ImportError as error:
            raise InputError('view: the viewer needs viser; pip install "diffloom[viewer]"') from error
        self._playback, self._times = playback, playback.times(frames)
        self._lock = threading.RLock()
        self.bodies: dict[str, PlaybackBody] = {name: playback.body(name, self._times) for name in playback.values}
        self.server: Any = viser.ViserServer(host=host, port=port, label="diffloom", verbose=False)
        self.address = f"http://{host}:{self.server.get_port()}"
        self._drawing = SceneDrawing(self.server, playback, recorders(playback))
        self._drawing.stand(self.bodies)
        self._playing = False
        self._add_time()
        self._add_choices()
        self._add_sliders()
        self.redraw()

    @property
    def time(self) -> float:
        """What is shown now [s]."""
        return float(self._times[int(self.slider.value)])

    def _add_time(self) -> None:
        gui = self.server.gui
        self.slider = gui.add_slider("frame", 0, len(self._times) - 1, 1, 0)
        self.clock_text = gui.add_text("time", "0 s", disabled=True)
        self.play = gui.add_checkbox("play", False)
        self.slider.on_update(lambda _: self.redraw())
        self.play.on_update(lambda _: self._start() if self.play.value else None)

    def _add_choices(self) -> None:
        gui = self.server.gui
        self.layout = gui.add_dropdown("layout", ("overlaid", "side by side"))
        fields = ("strain", "stress") if self._drawing.tells_stress(next(iter(self.bodies.values()))) else ("strain",)
        self.colouring = gui.add_dropdown("colour", ("by body", "appearance", *fields))
        self.bar = gui.add_image(colour_bar(), format="png", visible=False)
        self.scale = gui.add_text("scale", "", disabled=True, visible=False)
        self.forces = gui.add_checkbox("contact forces", False)
        self.largest = gui.add_text("largest", "", disabled=True, visible=False)
        self.cameras = gui.add_checkbox("cameras", True)
        self.shown = {name: gui.add_checkbox(f"show {name}", True) for name in [*self.bodies, YOURS]}
        for one in (self.layout, self.colouring, self.forces, self.cameras, *self.shown.values()):
            one.on_update(lambda _: self.redraw())

    def _add_sliders(self) -> None:
        """Sliders of the unknowns; moving one simulates anew."""
        gui, values = self.server.gui, self._playback.values
        self._base = next(name for name in ("fit", "start") if name in values)
        self.knobs: dict[tuple[str, int], Any] = {}
        with gui.add_folder("what if"):
            for knob in knobs(self._playback.experiment, values, self._base):
                slider = gui.add_slider(knob.label, knob.low, knob.high, knob.step, knob.value)
                slider.on_update(lambda _: self.simulate())
                self.knobs[knob.name, knob.index] = slider
            self.said = gui.add_text("says", "", disabled=True)

    def simulate(self) -> None:
        """Play what the sliders say, as the body "yours"; what cannot be simulated is said in words."""
        with self._lock:
            settings = {place: float(slider.value) for place, slider in self.knobs.items()}
            values = turned(self._playback.values[self._base], settings)
            try:
                self.bodies[YOURS] = play(YOURS, self._playback.experiment.scene, values, self._times)
                self.said.value = ""
            except (SimulationError, InputError) as error:
                self.bodies.pop(YOURS, None)
                self.said.value = str(error)[:200]
            self._drawing.forget(YOURS)
            self.redraw()

    def put(self, body: PlaybackBody) -> None:
        """Show a body in place of the one of its name, or beside the others."""
        with self._lock:
            self.bodies[body.name] = body
            self._drawing.forget(body.name)
            self.redraw()

    def redraw(self) -> None:
        """Draw everything as the choices say."""
        with self._lock:
            on = {name: body for name, body in self.bodies.items() if name not in self.shown or self.shown[name].value}
            frame = int(self.slider.value)
            self.clock_text.value = f"{self.time:.4g} s"
            self._drawing.bodies(on, frame, apart=self.layout.value == "side by side", colouring=self.colouring.value)
            self.scale.value = self._drawing.scale(self.colouring.value)
            self.scale.visible = self.bar.visible = bool(self.scale.value)
            self._drawing.forces(on if self.forces.value else {}, frame)
            self.largest.visible = bool(self.forces.value)
            self.largest.value = self._drawing.scale_of_forces(on) if self.forces.value else ""
            self._drawing.cameras(self.time, self.cameras.value)

    def _start(self) -> None:
        if not self._playing:
            self._playing = True
            threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        span = float(self._times[-1]) / (len(self._times) - 1)
        while self.play.value:
            self.slider.value = (int(self.slider.value) + 1) % len(self._times)
            self.redraw()
            clock.sleep(float(np.clip(span, 0.03, 0.2)))
        self._playing = False

    def wait(self) -> None:
        """Serve the page until Ctrl-C."""
        try:
            while True:
                clock.sleep(1.0)
        except KeyboardInterrupt:
            self.close()

    def close(self) -> None:
        """End it."""
        self.play.value = False
        self.server.stop()


class LiveView:
    """A window whose body "fit" follows the best vector so far; ``observe`` is given to a fit as its observer."""

    def __init__(self, experiment: Experiment, *, host: str = "127.0.0.1", port: int = 8080, frames: int = 31) -> None:
        self._experiment = experiment
        playback = make_playback(experiment, experiment.start(0))
        self.window = ViewerWindow(playback, host=host, port=port, frames=frames)
        self._times = playback.times(frames)
        self.address = self.window.address

    def observe(self, state: FitState, record: Record) -> None:
        """Show where the fit stands."""
        z = state.best[1] if state.best is not None else state.z
        with torch.no_grad():
            values = self._experiment.layout.decode(z.detach())
        try:
            self.window.put(play("fit", self._experiment.scene, values, self._times))
        except (SimulationError, InputError):
            return  # one step of a fit that cannot be simulated is the optimiser's affair

    def wait(self) -> None:
        """Serve the page until Ctrl-C."""
        self.window.wait()
