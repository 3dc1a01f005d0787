"""Progress of a fit as it runs: a live table in a terminal, plain lines in logs and pipes, a bar in a notebook."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections import deque
from contextlib import AbstractContextManager
from html import escape
from types import TracebackType
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from diffloom_fitting import AbstractExperiment
from diffloom_fitting.loop import FitState, Record, tasks
from diffloom_fitting.numbers import format_brief, format_number, format_seconds
from diffloom_studio.terminal_images import HEIGHT, Strip, draw_curve


class Watcher(AbstractContextManager["Watcher"]):
    """Display that shows every iteration."""

    @abstractmethod
    def show(self, state: FitState, record: Record) -> None:
        """Show one iteration."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Do nothing, unless overridden."""


def make_watcher(experiment: AbstractExperiment, console: Console, every: float = 2.0) -> Watcher:
    """Return a live table in a terminal, a bar in a notebook, else plain lines (at most one per ``every`` seconds)."""
    if console.is_jupyter:
        return NotebookBar(experiment)
    return LiveTable(experiment, console) if console.is_terminal else PlainLines(experiment, console, every)


def count_iterations(experiment: AbstractExperiment) -> int:
    """Return the largest number of iterations, including the beginnings of stages."""
    whole = sum(stage.iterations + 1 for stage in experiment.stages)
    return sum(experiment.probe + 1 if task.probe else whole for task in tasks(experiment))


class PlainLines(Watcher):
    """One line per iteration, at most one in ``every`` seconds; ends of stages are always shown."""

    def __init__(self, experiment: AbstractExperiment, console: Console, every: float = 2.0) -> None:
        self._stages = len(experiment.stages)
        self._console = console
        self._every = every
        self._last = -1e9

    def show(self, state: FitState, record: Record) -> None:
        """Print one iteration."""
        now = time.monotonic()
        if not record.note and now - self._last < self._every:
            return
        self._last = now
        values = "  ".join(f"{name} {format_brief(value)}" for name, value in list(record.values.items())[:6])
        line = (
            f"stage {record.stage + 1}/{self._stages} {record.optimiser} {record.iteration}: "
            f"loss {format_number(record.loss, 4)}  {values}  {format_seconds(record.seconds)}"
        )
        self._console.print(
            line + (f"  ({record.note})" if record.note else ""), soft_wrap=True, highlight=False, markup=False
        )


ROWS = 10
COLUMNS = 5
LEAST_LINES = ROWS + HEIGHT + 14  # least height of a terminal that shows images [lines]
COLOURS = ("256", "truecolor")  # colour systems of terminals that show images


class LiveTable(Watcher):
    """Table of the last iterations with the curve of the loss and a bar, redrawn in place.

    A terminal with colours and enough lines also shows frames of the video above those of the fit.
    """

    def __init__(self, experiment: AbstractExperiment, console: Console) -> None:
        self._stages = len(experiment.stages)
        self._names = [slot.name for slot in experiment.layout.slots][:COLUMNS]
        self._units = {slot.name: slot.unit for slot in experiment.layout.slots}
        self._rows: deque[Record] = deque(maxlen=ROWS)
        self._losses: list[float] = []
        shows = console.color_system in COLOURS and console.size.height >= LEAST_LINES
        self._strip = Strip(experiment) if shows else None
        self._bar = Progress(
            TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
            TextColumn("at most"), TimeRemainingColumn(), TextColumn("left"), console=console,
        )  # fmt: skip
        self._task = self._bar.add_task("fitting", total=count_iterations(experiment))
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
        self._losses.append(record.loss)
        if self._strip is not None:
            self._strip.update(state)
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
            told = [format_brief(r.values[name]) for name in self._names]
            stage = f"{r.stage + 1}/{self._stages} {r.optimiser}"
            table.add_row(Text(stage), str(r.iteration), format_number(r.loss, 4), *told, format_seconds(r.seconds))
        parts: list[RenderableType] = [table, draw_curve(self._losses)]
        if self._strip is not None:
            parts.append(self._strip.text)
        return Group(*parts, self._bar)


class NotebookBar(Watcher):
    """Bar, loss and unknowns in a notebook."""

    def __init__(self, experiment: AbstractExperiment) -> None:
        self._total = count_iterations(experiment)
        self._handle: Any = None

    def __enter__(self) -> NotebookBar:
        from IPython.display import HTML, display

        self._handle = display(HTML(format_bar(0, self._total, "fitting")), display_id=True)
        return self

    def show(self, state: FitState, record: Record) -> None:
        """Redraw the bar."""
        from IPython.display import HTML

        values = ", ".join(f"{name} {format_brief(value)}" for name, value in list(record.values.items())[:4])
        done = f"{'fitted' if state.finished else 'fitting'}: loss {format_number(record.loss, 4)}, {values}"
        total = record.total if state.finished else self._total
        self._handle.update(HTML(format_bar(record.total, total, done)))


def format_bar(done: int, total: int, text: str) -> str:
    """Return the bar as HTML that needs no script."""
    return f'<progress value="{done}" max="{max(total, 1)}"></progress> {done} of at most {total}; {escape(text)}'
