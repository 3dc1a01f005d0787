"""Progress as a live table with a bar."""

from __future__ import annotations

from collections import deque
from types import TracebackType

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from diffloom_fitting.experiment import Experiment
from diffloom_fitting.loop import FitState, Record
from diffloom_fitting.numbers import brief, number, seconds
from diffloom_studio.console.watcher import planned

ROWS = 10
COLUMNS = 5


class LiveTable:
    """The last iterations, redrawn in place."""

    def __init__(self, experiment: Experiment, console: Console) -> None:
        self._stages = len(experiment.stages)
        self._names = [slot.name for slot in experiment.layout.slots][:COLUMNS]
        self._units = {slot.name: slot.unit for slot in experiment.layout.slots}
        self._rows: deque[Record] = deque(maxlen=ROWS)
        self._bar = Progress(
            TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), console=console
        )
        self._task = self._bar.add_task("fitting", total=planned(experiment))
        self._live = Live(self._view(), console=console, refresh_per_second=8)

    def __enter__(self) -> LiveTable:
        self._live.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.__exit__(kind, error, trace)

    def show(self, state: FitState, record: Record) -> None:
        """Add one iteration."""
        self._rows.append(record)
        if state.finished:
            self._bar.update(self._task, total=record.total, completed=record.total, description="fitted")
        else:
            self._bar.update(self._task, completed=record.total)
        self._live.update(self._view())

    def _view(self) -> Group:
        table = Table(header_style="bold", expand=False)
        table.add_column("stage")
        table.add_column("it.", justify="right")
        table.add_column("loss", justify="right")
        for name in self._names:
            unit = f"\n[{self._units[name]}]" if self._units[name] else ""
            table.add_column(Text(name + unit), justify="right")
        table.add_column("time", justify="right")
        for r in self._rows:
            told = [brief(r.values[name]) for name in self._names]
            stage = f"{r.stage + 1}/{self._stages} {r.optimiser}"
            table.add_row(Text(stage), str(r.iteration), number(r.loss, 4), *told, seconds(r.seconds))
        return Group(table, self._bar)
