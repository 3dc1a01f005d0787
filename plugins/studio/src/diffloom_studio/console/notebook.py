"""Progress as one bar that a notebook redraws in place."""

from __future__ import annotations

from html import escape
from types import TracebackType
from typing import Any

from diffloom_fitting.experiment import Experiment
from diffloom_fitting.loop import FitState, Record
from diffloom_fitting.numbers import brief, number
from diffloom_studio.console.watcher import planned


class NotebookBar:
    """A bar, the loss and the unknowns. handle: IPython's, made when the fit begins."""

    def __init__(self, experiment: Experiment) -> None:
        self._total = planned(experiment)
        self._handle: Any = None

    def __enter__(self) -> NotebookBar:
        from IPython.display import HTML, display

        self._handle = display(HTML(bar_html(0, self._total, "fitting")), display_id=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    def show(self, state: FitState, record: Record) -> None:
        """Redraw the bar."""
        from IPython.display import HTML

        values = ", ".join(f"{name} {brief(value)}" for name, value in list(record.values.items())[:4])
        done = f"{'fitted' if state.finished else 'fitting'}: loss {number(record.loss, 4)}, {values}"
        total = record.total if state.finished else self._total
        self._handle.update(HTML(bar_html(record.total, total, done)))


def bar_html(done: int, total: int, text: str) -> str:
    """The bar as HTML that needs no script."""
    return f'<progress value="{done}" max="{max(total, 1)}"></progress> {done} of at most {total}; {escape(text)}'
