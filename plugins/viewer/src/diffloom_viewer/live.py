"""A fit watched while it runs."""

from __future__ import annotations

import torch

from diffloom.interfaces import InputError, SimulationError
from diffloom_fitting.experiment import Experiment
from diffloom_fitting.loop import FitState, Record
from diffloom_studio.playback import playback_of
from diffloom_studio.playback.bodies import play
from diffloom_viewer.window import Window


class Live:
    """A window whose body "fit" follows the best vector so far; ``observe`` is given to a fit as its observer."""

    def __init__(self, experiment: Experiment, *, host: str = "127.0.0.1", port: int = 8080, frames: int = 31) -> None:
        self._experiment = experiment
        playback = playback_of(experiment, experiment.start(0))
        self.window = Window(playback, host=host, port=port, frames=frames)
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
