"""A fit's further starts, in lockstep: told one after the other, as if each had waited for the one before."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import replace

from diffloom_fitting.experiment import Experiment
from diffloom_fitting.lockstep import Ask, Lockstep
from diffloom_fitting.loop import FitState, Record, Task, advance, best_outcome, tasks
from diffloom_fitting.many_views import runs_together
from diffloom_fitting.stopwatch import Lap
from diffloom_fitting.together import answer

#: Starts that are followed at once at most.
MOST_STARTS = 8
Told = deque[tuple[FitState, Record]]


class StartsTogether:
    """Takes a fit on as ``advance`` does, to the same states; starts that follow each other run in lockstep where their
    simulations can. What is found ahead is no part of a state: a resumed fit finds it again."""

    def __init__(self, experiment: Experiment) -> None:
        self._experiment, self._tasks = experiment, tasks(experiment)
        self._told: dict[int, Told] = {}
        self._steps: Lockstep | None = None
        self._before: FitState | None = None

    def advance(self, state: FitState) -> tuple[FitState, Record]:
        """One iteration."""
        if state.stage == 0 and state.iteration == -1:
            self._before = state
            if state.task not in self._told:
                self._begin(state.task)
        if state.task not in self._told or self._before is None:
            return advance(self._experiment, state)
        lap = Lap()
        ahead, record = self._next(state.task)
        found = after(self._before, ahead, self._tasks)
        spent = lap.seconds
        since = 0.0 if found.iteration == -1 else state.seconds[0] + spent
        return (
            replace(found, seconds=(since, state.seconds[1] + spent)),
            replace(record, total=found.total, seconds=spent),
        )

    def close(self) -> None:
        """End what still runs."""
        if self._steps is not None:
            self._steps.close()
        self._steps, self._told = None, {}

    def _begin(self, task: int) -> None:
        """Set out with all that follow ``task``, if they can run together and will."""
        self.close()
        experiment, first = self._experiment, self._tasks[task]
        # A start that is enough makes the others needless: then each waits for the one before.
        waits = experiment.enough is not None and not first.probe
        chosen = []
        for k, other in enumerate(self._tasks[task : task + MOST_STARTS], task):
            if other.start is None or other.probe != first.probe:
                break
            chosen.append(k)
        timed = any(stage.stop.seconds is not None for stage in experiment.stages)
        if waits or timed or len(chosen) < 2 or experiment.differences:
            return
        if not runs_together(experiment.objective(), experiment.start(0)):
            return
        self._told = {k: deque() for k in chosen}
        self._steps = Lockstep([self._follow(k, self._tasks[k]) for k in chosen], answer)

    def _follow(self, number: int, task: Task) -> Callable[[Ask], None]:
        def search(ask: Ask) -> None:
            assert task.start is not None
            state = FitState(self._experiment.start(task.start), task=number)
            while state.task == number and not state.finished:
                state, record = advance(self._experiment, state, ask)
                self._told[number].append((without_residuals(state), record))

        return search

    def _next(self, task: int) -> tuple[FitState, Record]:
        assert self._steps is not None
        told, member = self._told[task], self._steps.members[task - min(self._told)]
        while not told and not member.ended:
            self._steps.round()
        if not told and member.error is not None:
            raise member.error
        return told.popleft()


def without_residuals(state: FitState) -> FitState:
    """Without the residuals, which can be had again."""
    if state.progress is None:
        return state
    return replace(state, progress=replace(state.progress, residuals=None))


def after(before: FitState, ahead: FitState, following: list[Task]) -> FitState:
    """A state of a start that was followed by itself, as it is after those before it."""
    found = replace(ahead, total=before.total + ahead.total, outcomes=(*before.outcomes, *ahead.outcomes))
    best = best_outcome(found)
    if ahead.task == before.task and not ahead.finished:
        return found
    assert best is not None
    return replace(found, z=best.z) if found.finished or following[found.task].start is None else found
