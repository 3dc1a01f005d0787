"""A fit's starts and the points of a landscape on an engine: the numbers are those of this process alone."""

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
    """An experiment as plain data, which workers build anew; files that it names are needed there too."""

    text: str
    folder: str
    name: str

    @staticmethod
    def of(loaded: LoadedFile) -> SentExperiment:
        """From a checked file."""
        return SentExperiment(json.dumps(loaded.raw), str(loaded.folder.resolve()), loaded.name)


@lru_cache(maxsize=1)
def _built(sent: SentExperiment) -> AbstractExperiment:
    # Tasks fill the cores: each keeps to one.
    torch.set_num_threads(1)
    raw = json.loads(sent.text)
    return build_any(recognise(raw, sent.name).load(raw, Path(sent.folder), sent.name))  # type: ignore[no-any-return]


def follow_start(task: tuple[SentExperiment, int]) -> tuple[FitState, list[Record]]:
    """What a worker does: follow one start, or probe it, as if there were none before it."""
    sent, number = task
    experiment = _built(sent)
    told: list[tuple[FitState, Record]] = []
    run_searches([run_task(experiment, number, told)])
    return told[-1][0], [record for _, record in told]


def fit_starts_on(
    engine: Engine, sent: SentExperiment, experiment: AbstractExperiment
) -> Iterator[tuple[FitState, Record]]:
    """States and records of all starts, or of all probes, told one start after the other. Starts after one that is
    enough are not told. The state goes along with the last record of a start; before that it is that of its begin."""
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


def grid_losses(task: tuple[SentExperiment, tuple[Axis, ...], list[tuple[int, ...]]]) -> list[float]:
    """What a worker does: the losses at some points of a grid."""
    sent, axes, points = task
    return evaluate_losses(_built(sent), axes, points)


def evaluate_grid_on(
    engine: Engine,
    sent: SentExperiment,
    experiment: AbstractExperiment,
    axes: Sequence[Axis],
    watch: Callable[[int, int], None],
) -> LossGrid:
    """`evaluate_grid` on an engine. watch: told how many points there are of how many."""
    check_axes(experiment, axes)
    losses, done = np.full([len(axis.values) for axis in axes], np.inf), 0
    points = list(np.ndindex(losses.shape))
    parts = [points[first : first + MOST_SCENES] for first in range(0, len(points), MOST_SCENES)]
    for number, found in engine.run(grid_losses, [(sent, tuple(axes), part) for part in parts]):
        for point, loss in zip(parts[number], found, strict=True):
            losses[point] = loss
        done += len(found)
        watch(done, len(points))
    return LossGrid(tuple(axes), losses)
