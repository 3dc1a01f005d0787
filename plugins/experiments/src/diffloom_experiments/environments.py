"""Gymnasium environments from experiment files, experiments and control tasks.

import gymnasium
import diffloom_experiments

env = diffloom_experiments.make_env("experiments/control-walker.toml", observe="image")
env = gymnasium.make(
    "diffloom_experiments.environments:diffloom/Scene-v0", source="experiments/control-walker.toml"
)
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from diffloom_control.gym import ControlTask, SceneEnv, make_task
from diffloom_experiments.experiments import build_experiment
from diffloom_experiments.load import load_file
from diffloom_fitting import Experiment

__all__ = ["make_env"]


def make_env(
    source: str | Path | Experiment | ControlTask, *, quick: bool = False, changes: Mapping[str, Any] | None = None,
    fresh: bool = False, **settings: Any,
) -> SceneEnv:  # fmt: skip
    """Return the environment of an experiment file, an ``Experiment`` or a ``ControlTask``.

    env = make_env("experiments/control-walker.toml", observe="image")

    Args:
        source: Path of a file, experiment or task.
        quick: True to apply the file's [variants.quick].
        changes: Changes of the file as values by dotted key.
        fresh: True to repeat the file's draws (goal, start) at every reset, by the reset's seed; False for the draws of
            the file's seed.
        **settings: Settings of ``SceneEnv``.

    Returns:
        Gymnasium environment.
    """
    if isinstance(source, ControlTask):
        return SceneEnv(source, **settings)
    if isinstance(source, Experiment):
        return SceneEnv(make_task(source), **settings)
    path, given = Path(source), dict(changes or {})
    if not fresh:
        return SceneEnv(make_task(build_experiment(load_file(path, changes=given, quick=quick))), **settings)

    def make_drawn_task(seed: int) -> ControlTask:
        return make_task(build_experiment(load_file(path, changes={**given, "seed": seed}, quick=quick)))

    return SceneEnv(make_drawn_task, **settings)


def _register() -> None:
    """Register "diffloom/Scene-v0" with Gymnasium."""
    import gymnasium  # after diffloom_control.gym, which reports a missing Gymnasium

    if "diffloom/Scene-v0" not in gymnasium.registry:
        gymnasium.register("diffloom/Scene-v0", entry_point="diffloom_experiments.environments:make_env")


_register()
