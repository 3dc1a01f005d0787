"""The bodies of an experiment: its start, what was found, and the truth, as far as each is known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from diffloom.interfaces import InputError
from diffloom_experiments import build_experiment, load_file
from diffloom_experiments.run_folder import RunFolder
from diffloom_fitting.experiment import Experiment
from diffloom_fitting.result import Result
from diffloom_studio.playback.bodies import Body, play

FRAMES = 61  # that are played unless told otherwise


@dataclass(frozen=True)
class Playback:
    """An experiment with the values that are known of its unknowns, by name: "start", "fit", "truth"."""

    experiment: Experiment
    values: Mapping[str, Mapping[str, Tensor]]
    result: Result | None = None

    def times(self, frames: int = FRAMES) -> Tensor:
        """(frames,) [s]: evenly over the simulation."""
        scene = self.experiment.scene
        return torch.linspace(0.0, scene.steps * scene.dt, frames, dtype=torch.float64)

    def body(self, name: str, times: Tensor | None = None) -> Body:
        """What moved under the values called ``name``."""
        if name not in self.values:
            raise InputError(f"playback: there is no {name!r}; there are: {', '.join(self.values)}")
        return play(name, self.experiment.scene, self.values[name], self.times() if times is None else times)


def load_playback(place: str | Path) -> Playback:
    """Of a run folder, or of an experiment file, which has no fit yet."""
    path = Path(place)
    if path.is_dir():
        experiment = build_experiment(RunFolder(path).config())
        result = Result.load(path)
        return Playback(experiment, _values(experiment, result.z), result)
    experiment = build_experiment(load_file(path))
    return Playback(experiment, _values(experiment, None))


def playback_of(experiment: Experiment, z: Tensor | None = None) -> Playback:
    """Of an experiment in memory; z: what was found."""
    return Playback(experiment, _values(experiment, z))


def true_values(experiment: Experiment) -> dict[str, Tensor] | None:
    """The unknowns' true values, or None unless all of them are known."""
    layout, truth = experiment.layout, experiment.target.truth
    if not all(slot.name in truth and slot.only is None for slot in layout.slots):
        return None
    with torch.no_grad():
        return layout.decode(layout.encode(truth))


def _values(experiment: Experiment, z: Tensor | None) -> dict[str, Mapping[str, Tensor]]:
    layout, truth = experiment.layout, true_values(experiment)
    with torch.no_grad():
        found: dict[str, Mapping[str, Tensor]] = {"start": layout.decode(experiment.start(0))}
        if z is not None:
            found["fit"] = layout.decode(z.to(layout.dtype))
    return found if truth is None else found | {"truth": truth}
