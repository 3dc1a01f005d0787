"""Progress as plain lines, for logs and pipes."""

from __future__ import annotations

import time
from types import TracebackType

from rich.console import Console

from diffloom_fitting.experiment import Experiment
from diffloom_fitting.loop import FitState, Record
from diffloom_fitting.numbers import brief, number, seconds


class PlainLines:
    """One line per iteration, but no more than one in ``every`` seconds; ends of stages are always told."""

    def __init__(self, experiment: Experiment, console: Console, every: float = 2.0) -> None:
        self._stages = len(experiment.stages)
        self._console = console
        self._every = every
        self._last = -1e9

    def __enter__(self) -> PlainLines:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    def show(self, state: FitState, record: Record) -> None:
        """Print one iteration."""
        now = time.monotonic()
        if not record.note and now - self._last < self._every:
            return
        self._last = now
        values = "  ".join(f"{name} {brief(value)}" for name, value in list(record.values.items())[:6])
        line = (
            f"stage {record.stage + 1}/{self._stages} {record.optimiser} {record.iteration}: "
            f"loss {number(record.loss, 4)}  {values}  {seconds(record.seconds)}"
        )
        self._console.print(
            line + (f"  ({record.note})" if record.note else ""), soft_wrap=True, highlight=False, markup=False
        )
