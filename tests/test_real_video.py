"""Experiments on real clips, which are no part of the project."""

import os
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from diffloom_experiments import build_experiment, load_file
from diffloom_studio.commands.run import run
from diffloom_studio.report.media import write_video

REAL = Path(__file__).resolve().parents[1] / "experiments" / "real"
FILES = ("real-pendulum", "real-ball", "real-bounces", "real-throw")
DATA = os.environ.get("DIFFLOOM_REAL_DATA")
needs_data = pytest.mark.skipif(not DATA, reason="set DIFFLOOM_REAL_DATA to the folder of the real clips")


@pytest.mark.parametrize("name", FILES)
def test_an_experiment_without_its_clip_is_skipped_with_a_reason(name, monkeypatch, tmp_path):
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
    start = {slot.name: slot.start for slot in experiment.layout.slots}
    assert float(start["length"]) == pytest.approx(0.261, rel=0.02)
    assert float(experiment.target.confidence.mean()) > 0.9


def small_clip(path, length, seconds, held, rate=24.0):
    """A pale bob before a dark wall that a hand lets go of, and leaves 0.2 s later; as small and short as may be."""
    random, times = np.random.default_rng(4), np.arange(round(seconds * rate)) / rate
    y, x = np.indices((120, 160)) + 0.5
    frames = []
    for time in times:
        angle = 0.25 * np.cos((9.81 / length) ** 0.5 * max(time - held, 0.0))
        image = np.full((120, 160, 3), (0.2, 0.2, 0.25)) + 0.01 * random.standard_normal((120, 160, 3))
        column, row = 80.0 + 200.0 * np.sin(angle), -110.0 + 200.0 * np.cos(angle)
        image[np.hypot(x - column, y - row) < 9.0] = (0.8, 0.75, 0.7)
        if time < held + 0.2:
            image[int(row) - 4 : int(row) + 4, int(column) + 5 :] = (0.7, 0.5, 0.4)
        frames.append(image)
    write_video(path, (255 * np.clip(frames, 0, 1)).astype(np.uint8), rate)


def test_the_pendulum_takes_another_clip_by_its_key_alone(tmp_path):
    """Short, with a hand in it, dark where the other is pale, of another length, size and rate."""
    small_clip(tmp_path / "other.mp4", length=0.45, seconds=4.5, held=0.7)
    with pytest.warns(UserWarning, match="the swing is free from 0.9"):
        experiment = build_experiment(
            load_file(REAL / "real-pendulum.toml", changes={"target.video": str(tmp_path / "other.mp4")})
        )
    start = {slot.name: slot.start for slot in experiment.layout.slots}
    assert float(start["length"]) == pytest.approx(0.45, rel=0.02)
    assert float(start["joint_position"][0]) == pytest.approx(0.25 * np.cos((9.81 / 0.45) ** 0.5 * 0.22), rel=0.15)
    fitted, judged = experiment.target.times, experiment.holdout.times
    assert 2.0 < float(fitted[-1]) < float(judged[0]) < 2.6
    assert float(judged[-1]) > 3.3


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
