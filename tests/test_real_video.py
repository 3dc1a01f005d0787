"""Experiments on real clips, which are no part of the project."""

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from diffloom_fitting.commands.run import run
from diffloom_fitting.files import build_experiment, load_file

REAL = Path(__file__).resolve().parents[1] / "experiments" / "real"
FILES = ("real-pendulum", "real-ball", "real-bounces", "real-throw")
DATA = os.environ.get("DIFFLOOM_REAL_DATA")
needs_data = pytest.mark.skipif(not DATA, reason="set DIFFLOOM_REAL_DATA to the folder of the real clips")


@pytest.mark.parametrize("name", FILES)
def test_without_its_clip_an_experiment_is_skipped_with_a_word(name, monkeypatch, tmp_path):
    monkeypatch.delenv("DIFFLOOM_REAL_DATA", raising=False)
    done = CliRunner().invoke(run, [str(REAL / f"{name}.toml"), "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    assert done.output.startswith("skipped: ")
    assert "DIFFLOOM_REAL_DATA is not set" in done.output
    assert not (tmp_path / "out").exists()


@needs_data
@pytest.mark.parametrize("begin", [1.0, 17.0])
def test_the_pendulum_is_guessed_from_any_part(begin):
    changes = {"target.begin": begin, "target.duration": 5.0, "target.lost_frames": "ignore"}
    experiment = build_experiment(load_file(REAL / "real-pendulum.toml", changes=changes))
    start = {slot.name: float(slot.start) for slot in experiment.layout.slots}
    assert start["length"] == pytest.approx(0.261, rel=0.02)
    assert float(experiment.target.confidence.mean()) > 0.9


@needs_data
@pytest.mark.slow
def test_the_pendulum_is_found():
    from diffloom_fitting import run_fit

    found = run_fit(build_experiment(load_file(REAL / "real-pendulum.toml")))
    assert float(found["length"]) == pytest.approx(0.261, rel=0.01)
    assert found.holdout_pixels * 550 / 240 < 2.0  # in pixels of the clip


@needs_data
@pytest.mark.slow
def test_each_bounce_is_found_and_later_ones_are_predicted():
    from diffloom_fitting import run_fit

    found = run_fit(build_experiment(load_file(REAL / "real-bounces.toml")))
    assert float(found["gravity.y"]) == pytest.approx(-9.81, rel=0.02)
    told = {one.name: one.deviation for one in found.estimates}
    assert all(told[f"restitution@{k}"] is not None and float(told[f"restitution@{k}"]) < 0.02 for k in (1, 2, 3))
    ahead = run_fit(build_experiment(load_file(REAL / "real-bounces.toml", variants=("predict",))), sure=False)
    assert ahead.holdout_pixels < 8.5  # half a radius
