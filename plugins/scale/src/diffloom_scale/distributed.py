"""Starts of a fit and points of a landscape on an engine, with the same numbers as in one process."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import torch

from diffloom_experiments.kinds import LoadedFile, build_any, recognise
from diffloom_fitting import AbstractExperiment, run_searches
from diffloom_fitting.landscape import Axis, LossGrid, check_axes, evaluate_losses
from diffloom_fitting.loop import FitState, Record, begin, rebase_state, run_task, tasks
from diffloom_fitting.scene import MOST_SCENES
from diffloom_scale.engines import Engine


@dataclass(frozen=True)
class SentExperiment:
    """Experiment as plain data, which workers build; files that it names must exist on the workers' machines.

    Args:
        text: Data of the experiment file as JSON.
        folder: Folder of the file, from which paths in it are resolved.
        name: Name of the file, for messages.
    """

    text: str
    folder: str
    name: str

    @staticmethod
    def of(loaded: LoadedFile) -> SentExperiment:
        """Return the data of a checked file.

        Args:
            loaded: The checked file.

        Returns:
            The data to send.
        """
        return SentExperiment(json.dumps(loaded.raw), str(loaded.folder.resolve()), loaded.name)


@lru_cache(maxsize=1)
def _build(sent: SentExperiment) -> AbstractExperiment:
    # One thread per task, because tasks fill the cores.
    """Build an experiment, once per worker."""
    torch.set_num_threads(1)
    raw = json.loads(sent.text)
    return build_any(recognise(raw, sent.name).load(raw, Path(sent.folder), sent.name))  # type: ignore[no-any-return]


def follow_start(task: tuple[SentExperiment, int]) -> tuple[FitState, list[Record]]:
    """Follow one start on a worker, or probe it, independently of earlier starts."""
    sent, number = task
    experiment = _build(sent)
    told: list[tuple[FitState, Record]] = []
    run_searches([run_task(experiment, number, told)])
    return told[-1][0], [record for _, record in told]


def fit_starts_on(
    engine: Engine, sent: SentExperiment, experiment: AbstractExperiment
) -> Iterator[tuple[FitState, Record]]:
    """Fit all starts, or all probes, on an engine, and yield their history in the order of the starts.

    Starts after one that is good enough are left out. The state of a start comes with its last record; earlier records
    come with the state at its beginning.

    Args:
        engine: Engine that runs the starts.
        sent: The experiment as data.
        experiment: The experiment.

    Returns:
        Pairs of a state and a record.
    """
    experiment.check_before()
    following = tasks(experiment)
    numbers = [k for k, task in enumerate(following) if task.start is not None]
    here, come = begin(experiment), {}
    for number, found in engine.run(follow_start, [(sent, k) for k in numbers]):
        come[number] = found
        while here.task in come and not here.finished:
            ahead, records = come.pop(here.task)
            spent = here.seconds[1] + ahead.seconds[1]
            ended = replace(rebase_state(here, ahead, following), seconds=(0.0, spent))
            for record in records:
                yield ended if record is records[-1] else here, replace(record, total=here.total + record.total)
            here = ended
        if here.finished:
            return


def evaluate_points(task: tuple[SentExperiment, tuple[Axis, ...], list[tuple[int, ...]]]) -> list[float]:
    """Return the losses at some points of a grid, on a worker."""
    sent, axes, points = task
    return evaluate_losses(_build(sent), axes, points)


def evaluate_grid_on(
    engine: Engine,
    sent: SentExperiment,
    experiment: AbstractExperiment,
    axes: Sequence[Axis],
    watch: Callable[[int, int], None],
) -> LossGrid:
    """Evaluate the loss on a grid, on an engine: ``evaluate_grid`` in parallel.

    Args:
        engine: Engine that runs the points.
        sent: The experiment as data.
        experiment: The experiment.
        axes: Unknowns and their values.
        watch: Called with the number of finished points and of all points.

    Returns:
        The losses.
    """
    check_axes(experiment, axes)
    losses, done = np.full([len(axis.values) for axis in axes], np.inf), 0
    points = list(np.ndindex(losses.shape))
    parts = [points[first : first + MOST_SCENES] for first in range(0, len(points), MOST_SCENES)]
    for number, found in engine.run(evaluate_points, [(sent, tuple(axes), part) for part in parts]):
        for point, loss in zip(parts[number], found, strict=True):
            losses[point] = loss
        done += len(found)
        watch(done, len(points))
    return LossGrid(tuple(axes), losses)
