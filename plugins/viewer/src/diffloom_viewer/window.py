"""Page of the viewer: a run played back, or a fit watched while it runs; a slider for each unknown number."""

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
from diffloom_viewer.drawing import SceneDrawing, find_recorders
from diffloom_viewer.guard import Guard, check_address, guard_server

MOST = 6  # largest size of an unknown that gets sliders
WIDER = 2.0  # factor by which a slider reaches beyond all known values
STEPS = 200  # least number of steps of a slider


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
            label = slot.name + (f" {index}" if len(begin) > 1 else "") + unit
            found.append(Knob(slot.name, index, label, low, high, step, float(begin[index])))
    return found


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


YOURS = "yours"


def make_colour_bar() -> NDArray[np.uint8]:
    """Return the colours of a scale from its lower to its upper end, (height, width, 3)."""
    return np.repeat(scale_colours(np.linspace(0.0, 1.0, 256), 1.0)[None], 14, axis=0)


class ViewerWindow:
    """Page that shows a playback in 3D. ``address`` is its address with a secret token, ``bodies`` the bodies by name.

    The sliders make a further body, "yours", as soon as one is moved.

    Args:
        playback: Run or experiment to show.
        host: Address to serve; "127.0.0.1" for this machine alone.
        port: Port of the page; the next free one if it is taken.
        frames: Number of frames, evenly over the time.

    Example:
        window = ViewerWindow(load_playback("runs/demo"))
        window.wait()
    """

    def __init__(self, playback: Playback, *, host: str = "127.0.0.1", port: int = 8080, frames: int = 61) -> None:
        try:
            import viser
        except ImportError as error:
            raise InputError('view: the viewer needs viser; pip install "diffloom[viewer]"') from error
        self._playback, self._times = playback, playback.times(frames)
        self._lock = threading.RLock()
        self.bodies: dict[str, PlaybackBody] = {name: playback.body(name, self._times) for name in playback.values}
        guard = Guard(host)
        check_address(host, port)
        with guard_server(guard):
            self.server: Any = viser.ViserServer(host=host, port=port, label="diffloom", verbose=False)
        if not guard.active:  # a release that starts its server in another way would serve everyone
            self.server.stop()
            raise InputError(f"view: viser {viser.__version__} cannot be guarded; pip install 'viser==1.1.1'")
        shown = f"[{host}]" if ":" in host else host
        self.address = f"http://{shown}:{self.server.get_port()}/?token={guard.token}"
        self._drawing = SceneDrawing(self.server, playback, find_recorders(playback))
        self._drawing.place_eye(self.bodies)
        self._playing = False
        self._add_time()
        self._add_choices()
        self._add_sliders()
        self.redraw()

    @property
    def time(self) -> float:
        """Time that is shown now [s]."""
        return float(self._times[self._frame()])

    def _frame(self) -> int:
        """Return the index of the frame that is shown; a browser may send any number."""
        return min(max(int(self.slider.value), 0), len(self._times) - 1)

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
        fields = ("strain", "stress") if self._drawing.has_stress(next(iter(self.bodies.values()))) else ("strain",)
        self.colouring = gui.add_dropdown("colour", ("by body", "appearance", *fields))
        self.bar = gui.add_image(make_colour_bar(), format="png", visible=False)
        self.scale = gui.add_text("scale", "", disabled=True, visible=False)
        self.forces = gui.add_checkbox("contact forces", False)
        self.largest = gui.add_text("largest", "", disabled=True, visible=False)
        self.cameras = gui.add_checkbox("cameras", True)
        self.shown = {name: gui.add_checkbox(f"show {name}", True) for name in [*self.bodies, YOURS]}
        for one in (self.layout, self.colouring, self.forces, self.cameras, *self.shown.values()):
            one.on_update(lambda _: self.redraw())

    def _add_sliders(self) -> None:
        """Add sliders of the unknowns; moving one simulates again."""
        gui, values = self.server.gui, self._playback.values
        self._base = next(name for name in ("fit", "start") if name in values)
        self.knobs: dict[tuple[str, int], Any] = {}
        with gui.add_folder("what if"):
            for knob in knobs(self._playback.experiment, values, self._base):
                slider = gui.add_slider(knob.label, knob.low, knob.high, knob.step, knob.value)
                slider.on_update(lambda _: self.simulate())
                self.knobs[knob.name, knob.index] = slider
            self.said = gui.add_text("message", "", disabled=True)

    def simulate(self) -> None:
        """Simulate with the values of the sliders, as the body "yours"; errors are shown as text."""
        with self._lock:
            settings = {
                place: min(max(float(slider.value), slider.min), slider.max) for place, slider in self.knobs.items()
            }
            values = apply_settings(self._playback.values[self._base], settings)
            try:
                self.bodies[YOURS] = play(YOURS, self._playback.experiment.scene, values, self._times)
                self.said.value = ""
            except (SimulationError, InputError) as error:
                self.bodies.pop(YOURS, None)
                self.said.value = str(error)[:200]
            self._drawing.forget(YOURS)
            self.redraw()

    def put(self, body: PlaybackBody) -> None:
        """Show a body in place of the one of its name, or as a further body.

        Args:
            body: Body to show.
        """
        with self._lock:
            self.bodies[body.name] = body
            self._drawing.forget(body.name)
            self.redraw()

    def redraw(self) -> None:
        """Draw everything as the choices say."""
        with self._lock:
            on = {name: body for name, body in self.bodies.items() if name not in self.shown or self.shown[name].value}
            frame = self._frame()
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
            self.slider.value = (self._frame() + 1) % len(self._times)
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
        """Stop serving the page."""
        self.play.value = False
        self.server.stop()


class LiveView:
    """Window whose body "fit" follows the best vector so far; a fit is given ``observe`` as its observer.

    Args:
        experiment: Experiment that is fitted.
        host: Address to serve; "127.0.0.1" for this machine alone.
        port: Port of the page; the next free one if it is taken.
        frames: Number of frames, evenly over the time.
    """

    def __init__(self, experiment: Experiment, *, host: str = "127.0.0.1", port: int = 8080, frames: int = 31) -> None:
        self._experiment = experiment
        playback = make_playback(experiment, experiment.start(0))
        self.window = ViewerWindow(playback, host=host, port=port, frames=frames)
        self._times = playback.times(frames)
        self.address = self.window.address

    def observe(self, state: FitState, record: Record) -> None:
        """Show the best values so far.

        Args:
            state: State of the fit.
            record: Last line of the history; not used.
        """
        z = state.best[1] if state.best is not None else state.z
        with torch.no_grad():
            values = self._experiment.layout.decode(z.detach())
        try:
            self.window.put(play("fit", self._experiment.scene, values, self._times))
        except (SimulationError, InputError):
            return  # the optimiser handles values that cannot be simulated

    def wait(self) -> None:
        """Serve the page until Ctrl-C."""
        self.window.wait()
