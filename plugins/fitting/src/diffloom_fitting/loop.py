"""The loop of a fit: each call of `advance` is one iteration, and the state between two of them is plain data.

`MultiStart` runs several starts in one batch.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import MutableSequence
from dataclasses import dataclass, field, replace
from typing import Any

from torch import Tensor

from diffloom_fitting.driver import Driver, Posed, pose, put, run_searches
from diffloom_fitting.experiment import AbstractExperiment
from diffloom_fitting.optimisers import FitError, Progress
from diffloom_fitting.problem import Evaluate
from diffloom_fitting.stages import Stage
from diffloom_fitting.stopwatch import Lap

__all__ = [
    "FitState",
    "MultiStart",
    "Record",
    "StartOutcome",
    "StartTask",
    "advance",
    "begin",
    "find_best_outcome",
    "iterate",
    "rebase_state",
    "run_task",
    "tasks",
]  # fmt: skip

Settings = tuple[float, dict[str, float]]
"""Values of a stage's schedules: the horizon, and settings of the renderer and the loss."""
#: Largest number of starts in one batch.
MOST_STARTS = 8


@dataclass(frozen=True)
class StartOutcome:
    """End of one start.

    Args:
        start: Number of the start.
        z: (n,), its vector.
        value: Loss of its last stage, or of the whole objective if it was probed.
        reason: Reason for stopping.
    """

    start: int
    z: Tensor
    value: float
    reason: str


@dataclass(frozen=True)
class FitState:
    """State of a fit between two iterations.

    Args:
        z: (n,), full vector at the start of the stage.
        task: Position in the list of `tasks`.
        stage: Number of the stage.
        iteration: Iteration of the stage; -1 before its beginning.
        total: Iterations so far.
        progress: State of the optimiser.
        settings: Schedule values of the last iteration.
        losses: Losses in this stage under these settings.
        best: Best loss in this stage under these settings, and its full vector.
        outcomes: Ends of the starts so far.
        seconds: Time spent in this stage, and in all [s].
        note: Reason for the end of the last stage.
        finished: True after the last iteration.
    """

    z: Tensor
    task: int = 0
    stage: int = 0
    iteration: int = -1
    total: int = 0
    progress: Progress | None = None
    settings: Settings | None = None
    losses: tuple[float, ...] = ()
    best: tuple[float, Tensor] | None = None
    outcomes: tuple[StartOutcome, ...] = ()
    seconds: tuple[float, float] = (0.0, 0.0)
    note: str = ""
    finished: bool = False


@dataclass(frozen=True)
class StartTask:
    """One start to follow.

    Args:
        start: Number of the start; None for the best of those probed.
        probe: True to run only the probing iterations.
    """

    start: int | None
    probe: bool = False


@dataclass(frozen=True)
class Record:
    """Record of one iteration in plain numbers: one line of the history.

    Args:
        total: Number of the iteration, over all stages.
        start: Number of the start; -1 for the best of those probed.
        stage: Number of the stage.
        optimiser: Name of the optimiser's class.
        iteration: Iteration of the stage.
        loss: The loss.
        values: Unknowns in their units, as lists, or as a summary of those with many numbers (`summary`).
        gradient: Norm of the gradient in the searched space, if known.
        seconds: Time of the iteration [s].
        evaluations: Number of losses evaluated.
        rejected: Number of steps rejected.
        horizon: Part of the target's time that the loss compares.
        renderer: Scheduled settings.
        note: Reason for the end of the stage, if this is its last iteration.
    """

    total: int
    start: int
    stage: int
    optimiser: str
    iteration: int
    loss: float
    values: dict[str, Any]
    gradient: float | None
    seconds: float
    evaluations: int
    rejected: int
    horizon: float
    renderer: dict[str, float] = field(default_factory=dict)
    note: str = ""


def tasks(experiment: AbstractExperiment) -> list[StartTask]:
    """Return the tasks of a fit: probes of all starts and then the best one, or each start to its end.

    Args:
        experiment: The experiment.

    Returns:
        The tasks in order.
    """
    count = 1 + len(experiment.starts)
    if experiment.probe > 0 and count > 1:
        return [StartTask(k, probe=True) for k in range(count)] + [StartTask(None)]
    return [StartTask(k) for k in range(count)]


def begin(experiment: AbstractExperiment) -> FitState:
    """Return the state before the first iteration.

    Args:
        experiment: The experiment.

    Returns:
        The state.
    """
    return FitState(experiment.start(0))


def advance(experiment: AbstractExperiment, state: FitState) -> tuple[FitState, Record]:
    """Run one iteration: the first of a stage evaluates its start, later ones step.

    Args:
        experiment: The experiment.
        state: State before the iteration.

    Returns:
        State and record after the iteration.
    """
    return run_searches([iterate(experiment, state)])[0]


def iterate(experiment: AbstractExperiment, state: FitState) -> Posed[tuple[FitState, Record]]:
    """Run one iteration as a search, which can share batches with those of other starts.

    Args:
        experiment: The experiment.
        state: State before the iteration.

    Returns:
        A search for state and record after the iteration.
    """
    lap = Lap()
    task = tasks(experiment)[state.task]
    stage = experiment.stages[state.stage]
    iteration = state.iteration + 1
    settings = stage.settings(max(iteration - 1, 0))
    tie = experiment.tie(stage, state.z)
    objective = experiment.stage_objective(stage, tie, max(iteration - 1, 0))
    best, losses = state.best, state.losses
    try:
        if state.progress is None:
            short = state.z if tie is None else tie.reduce(state.z)
            seed = experiment.seed + 7919 * state.task + state.stage
            progress = yield from pose(objective, stage.optimiser.begin(objective, short, seed))
        else:
            progress = state.progress
            if settings != state.settings:
                renewed = stage.optimiser.renew(objective, replace(progress, done=None))
                progress, best, losses = (yield from pose(objective, renewed)), None, ()
            if best is not None or not stage.stop.low_enough(progress.value):
                rate = stage.rate.at(iteration - 1, stage.iterations)
                progress = yield from pose(objective, stage.optimiser.step(objective, progress, rate))
    except FitError as error:
        if len(tasks(experiment)) == 1:
            raise
        return (yield from _abandon(experiment, state, task, stage, settings, str(error)))
    full = progress.z if tie is None else tie.expand(progress.z)
    if best is None or progress.value < best[0]:
        best = (progress.value, full)
    spent = lap.seconds
    moved = replace(
        state, iteration=iteration, total=state.total + 1, progress=progress, settings=settings, best=best,
        losses=(*losses, progress.value), seconds=(state.seconds[0] + spent, state.seconds[1] + spent),
    )  # fmt: skip
    reason = _stage_end(stage, moved, experiment.probe if task.probe else stage.iterations)
    told = {name: summary(value) for name, value in experiment.layout.sought(full.detach()).items()}
    record = _record(state, moved, stage, task, told, spent, _note(stage, iteration, reason))
    if reason is None:
        return moved, record
    ahead = _next_change(stage, moved)
    if ahead is not None and not moved.iteration >= stage.iterations and not task.probe:
        # Skip to the next settings of the schedules, because the present problem is solved.
        return replace(moved, iteration=ahead), record
    return (yield from _next(experiment, moved, task, reason)), record


def _abandon(
    experiment: AbstractExperiment, state: FitState, task: StartTask, stage: Stage, settings: Settings, reason: str
) -> Posed[tuple[FitState, Record]]:
    """End a start that has failed with its best vector, and continue with the next start."""
    best = state.best or (math.inf, state.z)
    ended = replace(
        state, total=state.total + 1, best=best, stage=len(experiment.stages) - 1, settings=settings,
        progress=state.progress or Progress(state.z, math.inf),
    )  # fmt: skip
    told = {name: summary(value) for name, value in experiment.layout.sought(best[1]).items()}
    record = _record(state, ended, stage, task, told, 0.0, reason)
    return (yield from _next(experiment, ended, task, reason)), record


def _stage_end(stage: Stage, state: FitState, limit: int) -> str | None:
    progress = state.progress
    assert progress is not None
    if progress.done is not None:
        return progress.done
    if state.iteration >= limit:
        return f"{limit} iterations are done"
    norm = None if progress.gradient is None else float(progress.gradient.norm())
    return stage.stop.reason(state.losses, norm, state.seconds[0])


def _next_change(stage: Stage, state: FitState) -> int | None:
    """Return the iteration before the next change of settings, or None if the schedules have ended."""
    for iteration in range(state.iteration, stage.iterations):
        if stage.settings(iteration) != state.settings:
            return iteration
    return None


def _next(experiment: AbstractExperiment, state: FitState, task: StartTask, reason: str) -> Posed[FitState]:
    """Return the state after a finished stage."""
    assert state.best is not None
    z = state.best[1]
    fresh = replace(
        state, z=z, iteration=-1, progress=None, settings=None, losses=(), best=None,
        seconds=(0.0, state.seconds[1]), note=reason,
    )  # fmt: skip
    if not task.probe and state.stage + 1 < len(experiment.stages):
        return replace(fresh, stage=state.stage + 1)
    # Starts are compared by the objective of the last stage, or by the whole objective if they were only probed.
    (seen,) = yield from put(experiment.objective() if task.probe else experiment.last_objective(), Evaluate([z]))
    start = task.start if task.start is not None else _best(state.outcomes).start
    outcomes = (*state.outcomes, StartOutcome(start, z, seen.value, reason))
    fresh = replace(fresh, stage=0, outcomes=outcomes, task=state.task + 1)
    following = tasks(experiment)
    enough = not task.probe and experiment.enough is not None and seen.value <= experiment.enough
    if enough or fresh.task >= len(following):
        return replace(fresh, z=_best(outcomes).z, finished=True)
    start_of = following[fresh.task].start
    return replace(fresh, z=experiment.start(start_of) if start_of is not None else _best(outcomes).z)


def _best(outcomes: tuple[StartOutcome, ...]) -> StartOutcome:
    return min(outcomes, key=lambda o: o.value if math.isfinite(o.value) else math.inf)


def find_best_outcome(state: FitState) -> StartOutcome | None:
    """Return the best start that ended.

    Args:
        state: State of the fit.

    Returns:
        Its outcome, or None if none has ended.
    """
    return _best(state.outcomes) if state.outcomes else None


def summary(value: Tensor) -> Any:
    """Return a value as a list of numbers, or as mean, low and high of more than 16."""
    if value.numel() <= 16:
        return value.tolist()
    return {"mean": float(value.mean()), "low": float(value.min()), "high": float(value.max())}


def _note(stage: Stage, iteration: int, reason: str | None) -> str:
    """The renderer of a stage that has its own, where the stage begins; and the reason why it ends."""
    own = "" if stage.drawn_by is None or iteration > 0 else f"drawn by {type(stage.drawn_by).__name__}"
    return "; ".join(part for part in (own, reason) if part)


def _record(
    before: FitState, state: FitState, stage: Stage, task: StartTask, values: dict[str, Any], seconds: float, note: str
) -> Record:
    progress, settings = state.progress, state.settings
    assert progress is not None
    assert settings is not None
    earlier = before.progress
    return Record(
        total=state.total,
        start=-1 if task.start is None else task.start,
        stage=state.stage,
        optimiser=type(stage.optimiser).__name__,
        iteration=state.iteration,
        loss=progress.value,
        values=values,
        gradient=None if progress.gradient is None else float(progress.gradient.norm()),
        seconds=seconds,
        evaluations=progress.evaluations - (earlier.evaluations if earlier is not None else 0),
        rejected=progress.rejected - (earlier.rejected if earlier is not None else 0),
        horizon=settings[0],
        renderer=settings[1],
        note=note,
    )


def run_task(
    experiment: AbstractExperiment, number: int, told: MutableSequence[tuple[FitState, Record]]
) -> Posed[None]:
    """Follow one start as if it were the only one.

    Args:
        experiment: The experiment.
        number: Number of the task.
        told: List to which each state and record is appended.

    Returns:
        A search without result.
    """
    start = tasks(experiment)[number].start
    assert start is not None
    state = FitState(experiment.start(start), task=number)
    while state.task == number and not state.finished:
        state, record = yield from iterate(experiment, state)
        told.append((drop_residuals(state), record))


def drop_residuals(state: FitState) -> FitState:
    """Return a copy without the residuals, which can be computed again."""
    if state.progress is None:
        return state
    return replace(state, progress=replace(state.progress, residuals=None))


def rebase_state(before: FitState, ahead: FitState, following: list[StartTask]) -> FitState:
    """Rebase the state of a start, run as if it were the only one, onto the results of the starts before it.

    Args:
        before: State at the beginning of the start, within the fit.
        ahead: State of the start alone.
        following: All tasks.

    Returns:
        The state within the fit.
    """
    found = replace(ahead, total=before.total + ahead.total, outcomes=(*before.outcomes, *ahead.outcomes))
    best = find_best_outcome(found)
    if ahead.task == before.task and not ahead.finished:
        return found
    assert best is not None
    return replace(found, z=best.z) if found.finished or following[found.task].start is None else found


class MultiStart:
    """Loop that runs consecutive starts in one batch, with the same states as `advance`.

    Records are delivered start by start. Iterations that ran ahead are not part of a state; a resumed fit runs them
    again.

    Args:
        experiment: The experiment.
    """

    def __init__(self, experiment: AbstractExperiment) -> None:
        self._experiment, self._tasks = experiment, tasks(experiment)
        self._told: dict[int, deque[tuple[FitState, Record]]] = {}
        self._driver: Driver[None] | None = None
        self._before: FitState | None = None

    def advance(self, state: FitState) -> tuple[FitState, Record]:
        """Run one iteration.

        Args:
            state: State before the iteration.

        Returns:
            State and record after the iteration.
        """
        if state.stage == 0 and state.iteration == -1:
            self._before = state
            if state.task not in self._told:
                self._begin(state.task)
        if state.task not in self._told or self._before is None:
            return advance(self._experiment, state)
        lap = Lap()
        ahead, record = self._next(state.task)
        found = rebase_state(self._before, ahead, self._tasks)
        spent = lap.seconds
        since = 0.0 if found.iteration == -1 else state.seconds[0] + spent
        return (
            replace(found, seconds=(since, state.seconds[1] + spent)),
            replace(record, total=found.total, seconds=spent),
        )

    def _begin(self, task: int) -> None:
        """Begin all consecutive starts from ``task`` on that can share batches."""
        self._told = {}
        experiment, first = self._experiment, self._tasks[task]
        # With ``enough``, a start may end the fit, so each waits for the one before.
        waits = experiment.enough is not None and not first.probe
        chosen = []
        for k, other in enumerate(self._tasks[task : task + MOST_STARTS], task):
            if other.start is None or other.probe != first.probe:
                break
            chosen.append(k)
        timed = any(stage.stop.seconds is not None for stage in experiment.stages)
        if waits or timed or len(chosen) < 2 or experiment.differences:
            return
        if experiment.objective().batch_size(experiment.start(0)) > 1:
            self._told = {k: deque() for k in chosen}
            self._driver = Driver([run_task(experiment, k, told) for k, told in self._told.items()])

    def _next(self, task: int) -> tuple[FitState, Record]:
        assert self._driver is not None
        told, member = self._told[task], self._driver.members[task - min(self._told)]
        while not told and not member.ended:
            self._driver.round()
        if not told and member.error is not None:
            raise member.error
        return told.popleft()
