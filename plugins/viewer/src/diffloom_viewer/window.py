"""Page of the viewer: a run played back, or a fit watched while it runs; a slider for each unknown number."""

from __future__ import annotations

import threading
import time as clock
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from diffloom.interfaces import InputError, SimulationError
from diffloom_fitting import Experiment
from diffloom_fitting.loop import FitState, Record
from diffloom_studio.playback import Playback, PlaybackBody, make_playback, play, scale_colours
from diffloom_viewer.drawing import COLOURS, SceneDrawing, find_recorders
from diffloom_viewer.guard import Guard, check_address, guard_server
from diffloom_viewer.what_if import WhatIf

YOURS = "yours"
SPEEDS = ("1/8", "1/4", "1/2", "1", "2")  # choices of the speed of play, times real time
SHORTEST = 0.03  # least time between two frames of play [s]


def make_colour_bar() -> NDArray[np.uint8]:
    """Return the colours of a scale from its lower to its upper end, (height, width, 3)."""
    return np.repeat(scale_colours(np.linspace(0.0, 1.0, 256), 1.0)[None], 14, axis=0)


def make_legend(names: list[str]) -> str:
    """Return the colours of bodies as HTML."""
    parts = []
    for name in names:
        red, green, blue = COLOURS.get(name, (120, 120, 120))
        square = f'<span style="color:rgb({red},{green},{blue})">&#9632;</span>'
        parts.append(f'<span style="white-space:nowrap">{square} {name}</span>')
    return f'<div style="font-size:0.85em;padding:0.2em 0.9em">{" &nbsp; ".join(parts)}</div>'


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
        self.server.gui.configure_theme(control_layout="collapsible", show_logo=False, show_share_button=False)
        self._recorders = find_recorders(playback)
        self._drawing = SceneDrawing(self.server, playback, self._recorders)
        self._drawing.place_eye(self.bodies)
        self._drawing.axes(self.bodies)
        self._playing, self._asked = False, 0
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
        self.speed = gui.add_dropdown("speed", SPEEDS, "1")
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
        self.legend = gui.add_html(make_legend([*self.bodies, YOURS]))
        for one in (self.layout, self.colouring, self.forces, self.cameras, *self.shown.values()):
            one.on_update(lambda _: self.redraw())

    def _add_sliders(self) -> None:
        """Add sliders of the unknowns; moving one simulates again."""
        track = next((one for one in self._recorders if one.images is not None), None)
        self.what_if = WhatIf(self.server.gui, self._playback.experiment, self._playback.values, track)
        self.knobs = self.what_if.sliders
        for slider in self.knobs.values():
            slider.on_update(lambda _: self._ask())
        self.what_if.back.on_click(lambda _: self.go_back())

    def _ask(self) -> None:
        """Simulate once for the last of several moves of a slider."""
        self._asked += 1
        mine = self._asked
        with self._lock:
            if mine == self._asked:
                self.simulate()

    def simulate(self) -> None:
        """Simulate with the values of the sliders, as the body "yours"; errors are shown as text."""
        with self._lock:
            values = self.what_if.read()
            try:
                self.bodies[YOURS] = play(YOURS, self._playback.experiment.scene, values, self._times)
                self.what_if.judge(values)
                self.what_if.say("")
            except (SimulationError, InputError) as error:
                self.bodies.pop(YOURS, None)
                self.what_if.say(str(error))
            self._drawing.forget(YOURS)
            self.redraw()

    def go_back(self) -> None:
        """Set the sliders back to the fit, and drop the body "yours"."""
        with self._lock:
            self.what_if.reset()
            self._asked += 1
            self.bodies.pop(YOURS, None)
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
            self.what_if.show(self.time)

    def _start(self) -> None:
        if not self._playing:
            self._playing = True
            threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        span = float(self._times[-1]) / (len(self._times) - 1)
        while self.play.value:
            top, _, bottom = str(self.speed.value).partition("/")
            wait = span * float(bottom or 1.0) / float(top)
            # Frames that would follow each other too fast are skipped, so that the speed holds.
            stride = max(1, round(SHORTEST / wait)) if wait > 0.0 else 1
            self.slider.value = (self._frame() + stride) % len(self._times)
            self.redraw()
            clock.sleep(float(np.clip(stride * wait, SHORTEST, 2.0)))
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
