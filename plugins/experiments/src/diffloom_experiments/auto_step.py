"""Time step of files with dt = "auto", which is the default."""

from __future__ import annotations

from dataclasses import replace

from torch import Tensor

from diffloom.interfaces import InputError
from diffloom_experiments.load import Loaded
from diffloom_experiments.schema import TimeTable
from diffloom_experiments.starts import build_truth, make_start
from diffloom_fitting.scene import Scene, suggest_step
from diffloom_fitting.targets import make_true_values
from diffloom_fitting.trust import find_stable_step

#: Least number of steps of a simulation of given duration.
LEAST_STEPS = 100


def choose_step(loaded: Loaded, scene: Scene) -> Scene:
    """Return a scene whose step is stable for the start and the true values of a file.

    The step divides the duration. It is halved while small changes flip and grow along the motion.

    Args:
        loaded: Checked file.
        scene: Scene of the file, with any step.

    Returns:
        The scene with another step.
    """
    known = _list_known_values(loaded, scene)
    for values in known:
        dt = min(scene.dt, suggest_step(scene.model, scene.params_with(values)))
        scene = _replace_step(loaded.content.time, scene, dt)
    for values in known:
        scene = _replace_step(loaded.content.time, scene, find_stable_step(scene, values))
    return scene


def _replace_step(time: TimeTable, scene: Scene, dt: float) -> Scene:
    """Return a scene with a step of at most ``dt`` [s] that divides the duration, if that is given."""
    if time.duration is not None:
        dt = time.duration / max(LEAST_STEPS, -(-time.duration // dt) if dt < time.duration else 1)
    return scene if dt == scene.dt else replace(scene, dt=dt, steps=count_steps(time, dt))


def _list_known_values(loaded: Loaded, scene: Scene) -> list[dict[str, Tensor]]:
    """Return the model's parameters at the start and, if the file has any, at the truth."""
    content, own = loaded.content, {spec.name for spec in scene.model.specs}
    truth = build_truth(loaded, scene)
    starts = {
        name: make_start(scene, name, table, truth, content.seed, 0)
        for name, table in content.unknowns.items()
        if name in own and table.start is not None and table.only is None and not table.windows
    }
    found = [make_true_values(scene, starts), truth]
    return [{name: value for name, value in values.items() if name in own} for values in found]


def count_steps(time: TimeTable, dt: float) -> int:
    """Return the number of steps of ``dt`` [s] that a file asks for."""
    if (time.steps is None) == (time.duration is None):
        raise InputError("time: give either steps or duration")
    if time.steps is not None:
        return time.steps
    assert time.duration is not None
    return max(1, round(time.duration / dt))
