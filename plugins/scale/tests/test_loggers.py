"""Loggers, read back from what they wrote."""

from __future__ import annotations

import csv
import json

import pytest
from chain_file import CHAIN
from click.testing import CliRunner

from diffloom_fitting.checkpoints import read_history
from diffloom_scale import LOGGERS, get_logger
from diffloom_scale.loggers import flatten_record

EXPERIMENT = (
    CHAIN
    + """
[truth]
stiffness = 120.0
velocity = [0.2, 0.0, 0.0]
[unknowns.stiffness]
start = 90.0
[unknowns.velocity]
start = [0.0, 0.0, 0.0]
[[stages]]
optimiser = "gauss_newton"
iterations = 3
"""
)


@pytest.fixture
def run(tmp_path):
    """Runs the experiment with some loggers; the run's folder and its history."""

    def run(*names):
        from diffloom_studio.commands.run import run as command

        (tmp_path / "chain.toml").write_text(EXPERIMENT)
        folder = tmp_path / "run"
        logs = [word for name in names for word in ("--log", name)]
        done = CliRunner().invoke(
            command, [str(tmp_path / "chain.toml"), "--out", str(folder), "--no-report", "--no-check", *logs],
            catch_exceptions=False,
        )  # fmt: skip
        assert done.exit_code == 0, done.output
        history = read_history(folder / "history.jsonl")
        assert len(history) >= 2
        return folder, history

    return run


def test_the_table_has_every_iteration(run):
    folder, history = run("csv")
    with (folder / "history.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["loss"]) for row in rows] == [record.loss for record in history]
    assert [float(row["velocity.0"]) for row in rows] == [record.values["velocity"][0] for record in history]
    assert rows[-1]["note"] == history[-1].note


def test_tensorboard_reads_its_files(run):
    pytest.importorskip("tensorboard", reason="TensorBoard is not installed: `make test-services`")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    folder, history = run("tensorboard")
    events = EventAccumulator(str(folder / "tensorboard"))
    events.Reload()
    losses = events.Scalars("loss")
    assert [event.step for event in losses] == [record.total for record in history]
    assert [event.value for event in losses] == pytest.approx([record.loss for record in history], rel=1e-6)
    assert set(flatten_record(history[0])) <= set(events.Tags()["scalars"])


def test_mlflow_reads_its_runs(run, monkeypatch):
    pytest.importorskip("mlflow", reason="MLflow is not installed: `make test-services`")
    pytest.importorskip("sqlalchemy", reason="MLflow is not installed: `make test-services`")
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    from mlflow.tracking import MlflowClient

    folder, history = run("mlflow")
    client = MlflowClient(tracking_uri=f"sqlite:///{folder / 'mlflow.db'}")
    (found,) = client.search_runs([client.get_experiment_by_name("diffloom").experiment_id])
    losses = client.get_metric_history(found.info.run_id, "loss")
    assert [(metric.step, metric.value) for metric in losses] == [(r.total, r.loss) for r in history]
    assert found.info.status == "FINISHED"
    assert found.data.tags["verdict"] == json.loads((folder / "result.json").read_text())["verdict"]["level"]


def test_loggers_are_registered():
    assert {"csv", "tensorboard", "mlflow"} <= set(LOGGERS.names())
    assert get_logger("csv").__name__ == "CsvTable"
