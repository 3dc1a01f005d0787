"""A table of all iterations."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from diffloom_fitting.file_writing import explained
from diffloom_scale.loggers.logger import Logger, figures

if TYPE_CHECKING:
    from diffloom_fitting.loop import Record
    from diffloom_fitting.result import Result


class CsvTable(Logger):
    """``history.csv``: one line an iteration; a run that goes on adds to it."""

    def __init__(self) -> None:
        self._path = Path("history.csv")
        self._columns: list[str] = []

    def begin(self, folder: Path, title: str, config: Mapping[str, Any]) -> None:
        self._path = folder / "history.csv"
        if self._path.exists():
            with explained(self._path, "read"), self._path.open(encoding="utf-8", newline="") as file:
                self._columns = next(csv.reader(file), [])

    def record(self, record: Record) -> None:
        row = {
            "total": record.total, "start": record.start, "stage": record.stage, "iteration": record.iteration,
            **figures(record), "note": record.note,
        }  # fmt: skip
        with explained(self._path), self._path.open("a", encoding="utf-8", newline="") as file:
            if not self._columns:
                self._columns = list(row)
                csv.writer(file).writerow(self._columns)
            csv.writer(file).writerow([row.get(name, "") for name in self._columns])

    def end(self, result: Result) -> None:
        """All was written as it came."""
