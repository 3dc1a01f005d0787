"""Environments from files, experiments and tasks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from diffloom_fitting.experiment import Experiment
from diffloom_fitting.files import build_experiment, load_file
from diffloom_fitting.gym.environment import SceneEnv
from diffloom_fitting.gym.task import Task, task_of


def make_env(
    source: str | Path | Experiment | Task, *, quick: bool = False, changes: Mapping[str, Any] | None = None,
    fresh: bool = False, **settings: Any,
) -> SceneEnv:  # fmt: skip
    """The environment of an experiment file, an ``Experiment`` or a ``Task``; further settings are ``SceneEnv``'s.

    quick, changes: of a file, as ``diffloom run --quick --set key=value`` has them. fresh: draw what the file leaves to
    chance (its goal, the start) anew at every reset, by the reset's seed; else it is that of the file's seed.
    """
    if isinstance(source, Task):
        return SceneEnv(source, **settings)
    if isinstance(source, Experiment):
        return SceneEnv(task_of(source), **settings)
    path, given = Path(source), dict(changes or {})
    if not fresh:
        return SceneEnv(task_of(build_experiment(load_file(path, changes=given, quick=quick))), **settings)

    def drawn(seed: int) -> Task:
        return task_of(build_experiment(load_file(path, changes={**given, "seed": seed}, quick=quick)))

    return SceneEnv(drawn, **settings)
