"""The interface of what shows a fit's progress."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol

from rich.console import Console

from diffloom_fitting.experiment import Experiment
from diffloom_fitting.loop import FitState, Record, tasks


class Watcher(Protocol):
    """Told of every iteration."""

    def show(self, state: FitState, record: Record) -> None:
        """Show one iteration."""


def watcher(experiment: Experiment, console: Console, every: float = 2.0) -> AbstractContextManager[Watcher]:
    """A live table in a terminal, a bar in a notebook, plain lines elsewhere (at most one per ``every`` seconds)."""
    from diffloom_studio.console.lines import PlainLines
    from diffloom_studio.console.live import LiveTable
    from diffloom_studio.console.notebook import NotebookBar

    if console.is_jupyter:
        return NotebookBar(experiment)
    return LiveTable(experiment, console) if console.is_terminal else PlainLines(experiment, console, every)


def planned(experiment: Experiment) -> int:
    """How many iterations there are at most, beginnings of stages included."""
    whole = sum(stage.iterations + 1 for stage in experiment.stages)
    return sum(experiment.probe + 1 if task.probe else whole for task in tasks(experiment))
