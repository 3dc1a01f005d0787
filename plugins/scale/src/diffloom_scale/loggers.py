"""Loggers of a running fit: a CSV table, TensorBoard, MLflow."""

from __future__ import annotations

import csv
import io
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from diffloom.regular_files import append_text, read_text
from diffloom_fitting.files import FolderError, explain_errors

if TYPE_CHECKING:
    from diffloom_fitting import Result
    from diffloom_fitting.loop import Record

__all__ = ["CsvTable", "Logger", "MlFlow", "TensorBoard", "flatten_record", "open_loggers"]


class Logger(ABC):
    """Interface of loggers, called at a fit's beginning, after every iteration and at its end.

    Registered by name through the hook ``diffloom_register_loggers``; ``diffloom run --log NAME`` makes one without
    arguments.
    """

    @abstractmethod
    def begin(self, folder: Path, title: str, config: Mapping[str, Any]) -> None:
        """Begin the log of a fit that starts or continues.

        Args:
            folder: Folder of the run.
            title: Title of the experiment.
            config: Data of the experiment file.
        """

    @abstractmethod
    def record(self, record: Record) -> None:
        """Log an iteration.

        Args:
            record: Line of the fit's history.
        """

    @abstractmethod
    def end(self, result: Result) -> None:
        """End the log of a fit that has ended.

        Args:
            result: Result of the fit.
        """

    def close(self) -> None:  # noqa: B027
        """Release resources, also after a fit that failed. Does nothing unless overridden."""


class _All:
    """Several loggers as one."""

    def __init__(self, loggers: Sequence[Logger]) -> None:
        self._loggers = loggers

    def record(self, record: Record) -> None:
        for logger in self._loggers:
            logger.record(record)

    def end(self, result: Result) -> None:
        for logger in self._loggers:
            logger.end(result)


@contextmanager
def open_loggers(names: Sequence[str], folder: Path, title: str, config: Mapping[str, Any]) -> Iterator[_All]:
    """Open registered loggers, and close them when the block ends.

    Args:
        names: Names of the loggers.
        folder: Folder of the run.
        title: Title of the experiment.
        config: Data of the experiment file.

    Returns:
        The loggers as one.
    """
    from diffloom_scale import get_logger

    loggers: list[Logger] = [get_logger(name)() for name in names]
    try:
        for logger in loggers:
            logger.begin(folder, title, config)
        yield _All(loggers)
    finally:
        for logger in loggers:
            logger.close()


def flatten_record(record: Record) -> dict[str, float]:
    """Return the numbers of an iteration by name: loss, gradient, seconds, and each value, its entries counted from 0.

    Args:
        record: Line of the fit's history.

    Returns:
        Numbers by name.
    """
    found = {"loss": record.loss, "seconds": record.seconds, "evaluations": float(record.evaluations)}
    if record.gradient is not None:
        found["gradient"] = record.gradient
    for name, value in record.values.items():
        parts = value.items() if isinstance(value, Mapping) else _flatten(value)
        found |= {f"{name}.{part}" if part != "" else name: float(number) for part, number in parts}
    return found


def _flatten(value: Any) -> list[tuple[str, float]]:
    """Return the entries of nested lists with their indices, joined by dots."""
    if not isinstance(value, list):
        return [("", value)]
    return [(f"{k}.{part}" if part else str(k), n) for k, entry in enumerate(value) for part, n in _flatten(entry)]


#: Largest table of a history that is read [bytes].
MOST_HISTORY = 2**30


class CsvTable(Logger):
    """Logger that writes ``history.csv``: one line per iteration; a resumed run appends to it."""

    def __init__(self) -> None:
        self._path = Path("history.csv")
        self._columns: list[str] = []

    def begin(self, folder: Path, title: str, config: Mapping[str, Any]) -> None:
        self._path = folder / "history.csv"
        if self._path.exists():
            text = read_text(self._path, MOST_HISTORY, what="history", follow=False, error=FolderError)
            self._columns = next(csv.reader(io.StringIO(text, newline="")), [])

    def record(self, record: Record) -> None:
        row = {
            "total": record.total, "start": record.start, "stage": record.stage, "iteration": record.iteration,
            **flatten_record(record), "note": record.note,
        }  # fmt: skip
        lines = io.StringIO(newline="")
        if not self._columns:
            self._columns = list(row)
            csv.writer(lines).writerow(self._columns)
        csv.writer(lines).writerow([row.get(name, "") for name in self._columns])
        with explain_errors(self._path):
            append_text(self._path, lines.getvalue())

    def end(self, result: Result) -> None:
        """Do nothing, because every line is written at once.

        Args:
            result: Result of the fit; not used.
        """


class TensorBoard(Logger):
    """Logger that writes scalars of every iteration to ``tensorboard/`` of the run's folder, by the count of all
    iterations.
    """

    def __init__(self) -> None:
        self._writer: Any = None

    def begin(self, folder: Path, title: str, config: Mapping[str, Any]) -> None:
        from torch.utils.tensorboard import SummaryWriter

        self._writer = SummaryWriter(str(folder / "tensorboard"))
        self._writer.add_text("title", title)

    def record(self, record: Record) -> None:
        for name, number in flatten_record(record).items():
            self._writer.add_scalar(name, number, record.total)

    def end(self, result: Result) -> None:
        self._writer.add_text("verdict", result.verdict.level)

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()


class MlFlow(Logger):
    """Logger that writes a run of the experiment "diffloom" to MLflow.

    The server is named by the variable MLFLOW_TRACKING_URI; without it the run is kept in ``mlflow.db`` of the run's
    folder.
    """

    def __init__(self) -> None:
        self._client: Any = None
        self._run = ""

    def begin(self, folder: Path, title: str, config: Mapping[str, Any]) -> None:
        from mlflow.tracking import MlflowClient

        place = os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{(folder / 'mlflow.db').resolve()}"
        self._client = MlflowClient(tracking_uri=place)
        found = self._client.get_experiment_by_name("diffloom")
        number = self._client.create_experiment("diffloom") if found is None else found.experiment_id
        self._run = self._client.create_run(number, run_name=title, tags={"folder": str(folder)}).info.run_id
        for name in ("title", "seed", "precision"):
            if name in config:
                self._client.log_param(self._run, name, config[name])

    def record(self, record: Record) -> None:
        for name, number in flatten_record(record).items():
            self._client.log_metric(self._run, name, number, step=record.total)

    def end(self, result: Result) -> None:
        self._client.set_tag(self._run, "verdict", result.verdict.level)
        self._client.set_terminated(self._run, "KILLED" if result.interrupted else "FINISHED")
        self._run = ""

    def close(self) -> None:
        if self._client is not None and self._run:
            self._client.set_terminated(self._run, "FAILED")
