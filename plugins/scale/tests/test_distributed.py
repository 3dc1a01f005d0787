"""A fit's starts and the points of a landscape on an engine: as if this process had done it all."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from chain_file import CHAIN
from click.testing import CliRunner

from diffloom_experiments import build_experiment
from diffloom_experiments.load import load_data
from diffloom_fitting import Result, run_fit
from diffloom_fitting.landscape import Axis, evaluate_grid
from diffloom_scale.distributed import SentExperiment, evaluate_grid_on, fit_starts_on
from diffloom_scale.engines import Engine, make_engine
from diffloom_studio.commands.loss import landscape
from diffloom_studio.commands.run import run

EXPERIMENT = (
    CHAIN
    + """
[truth]
stiffness = 120.0
[unknowns.stiffness]
start = { uniform = [20.0, 400.0] }
[[stages]]
optimiser = "gauss_newton"
iterations = 3
[starts]
count = 4
"""
)
AXES = [Axis.parse("stiffness=60:200:40")]


@dataclass(frozen=True)
class Backwards(Engine):
    """Does everything here, the last task first."""

    def run(self, work: Callable[[Any], Any], tasks: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        for number in reversed(range(len(tasks))):
            yield number, work(tasks[number])


def sent_of(**starts: float) -> SentExperiment:
    raw = tomllib.loads(EXPERIMENT)
    raw["starts"] |= starts
    return SentExperiment.of(load_data(raw, Path("."), "chain.toml"))


def experiment_of(sent: SentExperiment) -> Any:
    return build_experiment(load_data(json.loads(sent.text), Path(sent.folder), sent.name))


def untimed(result: Result) -> list[str]:
    return [str(replace(record, seconds=0.0)) for record in result.history]


def compare_starts(engine: Engine, **starts: float) -> list[Any]:
    """The pairs that came back, after comparing the fit that goes on from them with the one of this process."""
    sent = sent_of(**starts)
    alone = run_fit(experiment_of(sent))
    pairs = list(fit_starts_on(engine, sent, experiment_of(sent)))
    shared = run_fit(experiment_of(sent), state=pairs[-1][0], history=[record for _, record in pairs])
    assert untimed(shared) == untimed(alone)
    assert torch.equal(shared.z, alone.z)
    assert shared.loss == alone.loss
    return pairs


@pytest.mark.parametrize("starts", [{}, {"probe": 1}, {"accept_loss": 1e-3}])
def test_a_fit_goes_on_from_starts_that_ran_elsewhere(starts: dict[str, float]) -> None:
    pairs = compare_starts(Backwards(), **starts)
    told = {record.start for _, record in pairs}
    assert told == ({0} if "accept_loss" in starts else {0, 1, 2, 3})
    assert pairs[-1][0].finished == ("probe" not in starts)
    # Checkpoints never hold more than the records that were reported.
    for number, (state, _) in enumerate(pairs, 1):
        assert state.total <= number


def test_points_of_a_landscape_come_back_in_any_order() -> None:
    sent, told = sent_of(), []
    found = evaluate_grid_on(Backwards(), sent, experiment_of(sent), AXES, lambda done, of: told.append((done, of)))
    assert told == [(8, 40), (40, 40)]
    assert np.array_equal(found.losses, evaluate_grid(experiment_of(sent), AXES).losses)
    assert found.lowest[0] == pytest.approx(120.0, abs=2.0)


def test_options_that_exclude_an_engine_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "chain.toml"
    file.write_text(EXPERIMENT)
    for command, given, words in (
        (landscape, [str(file), "--over", "stiffness=60:200:4", "--profile", "--jobs", "2"], "--profile fits from"),
        (run, ["--resume", str(tmp_path), "--engine", "ray"], "--resume continues in this process"),
    ):
        done = CliRunner().invoke(command, given)
        assert done.exit_code == 2
        assert words in done.output


@pytest.mark.slow
def test_processes_of_this_machine(tmp_path: Path) -> None:
    compare_starts(make_engine("local", jobs=2))
    file, out = tmp_path / "chain.toml", tmp_path / "out"
    file.write_text(EXPERIMENT)
    for command, given in (
        (run, ["--out", str(out / "run"), "--no-report"]),
        (landscape, ["--out", str(out), "--over", "stiffness=60:200:40"]),
    ):
        done = CliRunner().invoke(command, [str(file), "--jobs", "2", *given], catch_exceptions=False)
        assert done.exit_code == 0, done.output
    assert (out / "run" / "result.json").exists()
    assert "40 of 40 points" in done.output


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_cluster_of_two_nodes(cluster: str) -> None:
    engine, sent = make_engine("ray", address=cluster), sent_of()
    compare_starts(engine)
    found = evaluate_grid_on(engine, sent, experiment_of(sent), AXES, lambda done, of: None)
    assert np.array_equal(found.losses, evaluate_grid(experiment_of(sent), AXES).losses)
