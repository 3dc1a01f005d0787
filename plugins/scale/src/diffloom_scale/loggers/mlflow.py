"""Runs of MLflow."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from diffloom_scale.loggers.logger import Logger, figures

if TYPE_CHECKING:
    from diffloom_fitting.loop import Record
    from diffloom_fitting.result import Result


class MlFlow(Logger):
    """A run in the experiment "diffloom", at the server that the variable MLFLOW_TRACKING_URI names; without it in
    ``mlflow.db`` of the run's folder."""

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
        for name, number in figures(record).items():
            self._client.log_metric(self._run, name, number, step=record.total)

    def end(self, result: Result) -> None:
        self._client.set_tag(self._run, "verdict", result.verdict.level)
        self._client.set_terminated(self._run, "KILLED" if result.interrupted else "FINISHED")
        self._run = ""

    def close(self) -> None:
        if self._client is not None and self._run:
            self._client.set_terminated(self._run, "FAILED")
