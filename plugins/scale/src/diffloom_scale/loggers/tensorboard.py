"""Event files for TensorBoard."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from diffloom_scale.loggers.logger import Logger, figures

if TYPE_CHECKING:
    from diffloom_fitting.loop import Record
    from diffloom_fitting.result import Result


class TensorBoard(Logger):
    """Scalars of every iteration in ``tensorboard/`` of the run's folder, by the count of all iterations."""

    def __init__(self) -> None:
        self._writer: Any = None

    def begin(self, folder: Path, title: str, config: Mapping[str, Any]) -> None:
        from torch.utils.tensorboard import SummaryWriter

        self._writer = SummaryWriter(str(folder / "tensorboard"))
        self._writer.add_text("title", title)

    def record(self, record: Record) -> None:
        for name, number in figures(record).items():
            self._writer.add_scalar(name, number, record.total)

    def end(self, result: Result) -> None:
        self._writer.add_text("verdict", result.verdict.level)

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
