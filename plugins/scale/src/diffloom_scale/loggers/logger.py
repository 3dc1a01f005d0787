"""The interface of a logger."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from diffloom_fitting.loop import Record
    from diffloom_fitting.result import Result


class Logger(ABC):
    """Told of a fit's beginning, of every iteration and of its end. Registered by name through the hook
    ``diffloom_register_loggers``; ``diffloom run --log NAME`` makes one without arguments."""

    @abstractmethod
    def begin(self, folder: Path, title: str, config: Mapping[str, Any]) -> None:
        """A fit begins, or goes on. folder: of the run. config: the experiment file's data."""

    @abstractmethod
    def record(self, record: Record) -> None:
        """An iteration is done."""

    @abstractmethod
    def end(self, result: Result) -> None:
        """The fit has ended."""

    def close(self) -> None:  # noqa: B027
        """Nothing more will come, also where the fit failed. Does nothing unless defined."""


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
def logged(names: Sequence[str], folder: Path, title: str, config: Mapping[str, Any]) -> Iterator[_All]:
    """The registered loggers of these names, begun, and closed when the block ends."""
    from diffloom_scale import get_logger

    loggers: list[Logger] = [get_logger(name)() for name in names]
    try:
        for logger in loggers:
            logger.begin(folder, title, config)
        yield _All(loggers)
    finally:
        for logger in loggers:
            logger.close()


def figures(record: Record) -> dict[str, float]:
    """The numbers of an iteration by name: loss, gradient, seconds, and each value, its entries counted from 0."""
    found = {"loss": record.loss, "seconds": record.seconds, "evaluations": float(record.evaluations)}
    if record.gradient is not None:
        found["gradient"] = record.gradient
    for name, value in record.values.items():
        parts = value.items() if isinstance(value, Mapping) else _numbered(value)
        found |= {f"{name}.{part}" if part != "" else name: float(number) for part, number in parts}
    return found


def _numbered(value: Any) -> list[tuple[str, float]]:
    if not isinstance(value, list):
        return [("", value)]
    return [(f"{k}.{part}" if part else str(k), n) for k, entry in enumerate(value) for part, n in _numbered(entry)]


def needs_tensorboard() -> str | None:
    """Why TensorBoard's files cannot be written, or None."""
    return _missing("tensorboard")


def needs_mlflow() -> str | None:
    """Why MLflow cannot be told, or None."""
    return _missing("mlflow")


def _missing(name: str) -> str | None:
    return None if find_spec(name) else f"{name} is not installed: pip install 'diffloom-fitting[{name}]'"
