"""Measured motion of trees on a fixed base: angles with and without torques, units, readers and missing keys."""

from __future__ import annotations

import gzip
import math
from pathlib import Path

import numpy as np
import pytest
import torch

from diffloom import simulate
from diffloom.interfaces import Control, InputError
from diffloom_fitting import run_fit
from diffloom_motion import Recording, load_motion

articulated = pytest.importorskip("diffloom_physics_articulated.model")
RATE, FRAMES, SUBSTEPS = 100, 161, 8
TRUTH = {"length[1]": 0.3, "damping": 0.002}
NAMES = ["t", "q1", "q2", "v1", "v2", "m1", "m2"]
FILE = """
substeps = 8
[model]
name = "articulated"
trees = [{ builder = "double_pendulum", lengths = [0.2, 0.3], masses = [1.0, 0.5] }]
[recording]
file = "swing.csv"
time = "t"
columns = { joint_position = ["q1", "q2"], joint_torque = ["m1", "m2"] }
units = { joint_position = "deg", joint_torque = "N cm" }
[unknowns."length[1]"]
start = 0.27
[unknowns.damping]
start = 0.01
[[stages]]
stop.change = 1e-6
"""


@pytest.fixture(scope="module")
def swing() -> np.ndarray:
    """Times, angles, rates and torques of a driven double pendulum, tracked to 0.1 mrad."""
    tree = {
        "builder": "double_pendulum", "lengths": [0.2, TRUTH["length[1]"]], "masses": [1.0, 0.5],
        "angles": [0.6, 0.3], "damping": TRUTH["damping"],
    }  # fmt: skip
    model = articulated.ArticulatedModel([tree])
    times = np.arange(FRAMES) / RATE
    steps = SUBSTEPS * (FRAMES - 1)
    middle = (np.arange(steps) + 0.5) / (RATE * SUBSTEPS)
    torque = np.stack([0.3 * np.sin(5.0 * middle), 0.1 * np.cos(8.0 * middle)], axis=1)
    params = model.params(torch.float64)
    path = simulate(
        model, params, dt=1.0 / (RATE * SUBSTEPS), steps=steps, save_every=SUBSTEPS,
        control=Control({"torque": torch.tensor(torque)}),
    )  # fmt: skip
    at = np.stack([0.3 * np.sin(5.0 * times), 0.1 * np.cos(8.0 * times)], axis=1)
    angles = path.q[:, 0].numpy() + 1e-4 * np.random.default_rng(3).normal(size=(FRAMES, 2))
    return np.c_[times, angles, path.u[:, 0].numpy(), at]


def write_csv(place: Path, swing: np.ndarray, separator: str = ",") -> Path:
    rows = np.c_[swing[:, 0], np.degrees(swing[:, 1:3]), swing[:, 3:5], 100.0 * swing[:, 5:]]
    text = "\n".join([separator.join(NAMES), *(separator.join(f"{x:.9g}" for x in row) for row in rows)])
    if place.suffix == ".gz":
        place.write_bytes(gzip.compress(text.encode()))
    else:
        place.write_text(text)
    return place


def test_one_clip_of_driven_joints_gives_lengths_with_a_verdict(tmp_path: Path, swing: np.ndarray) -> None:
    write_csv(tmp_path / "swing.csv", swing)
    (tmp_path / "swing.toml").write_text(FILE)
    found = run_fit(load_motion(tmp_path / "swing.toml"))
    assert found.verdict.level == "green", str(found.verdict)
    for estimate in found.estimates:
        if estimate.name in TRUTH:
            deviation = float(estimate.deviation)
            assert abs(float(estimate.found) - TRUTH[estimate.name]) < 4.0 * deviation, estimate.name
            assert deviation < 0.05 * TRUTH[estimate.name]
    assert "rad" not in found.scores["fit"].words()
    assert found.scores["fit"].words().startswith("joints 0.0")


def test_torques_that_are_left_out_are_seen_in_the_verdict(tmp_path: Path, swing: np.ndarray) -> None:
    write_csv(tmp_path / "swing.csv", swing)
    (tmp_path / "swing.toml").write_text(FILE)
    unknown = ('recording.columns.joint_torque=["v1","v2"]',)
    wrong = load_motion(tmp_path / "swing.toml", (*unknown, "recording.units={joint_position='deg'}"))
    assert run_fit(wrong).verdict.explained.level in ("amber", "red")


def test_an_inertia_that_hardly_shows_is_called_undetermined(tmp_path: Path, swing: np.ndarray) -> None:
    write_csv(tmp_path / "swing.csv", swing)
    (tmp_path / "swing.toml").write_text(FILE)
    # Fifteen frames, and a motor's inertia a thousand times smaller than that of the link.
    settings = ("clips.pieces=20", "clips.fit=0:1", "unknowns.armature.start=[1e-7, 1e-7]")
    found = run_fit(load_motion(tmp_path / "swing.toml", settings))
    armature = next(each for each in found.estimates if each.name == "armature")
    assert found.verdict.identifiable.level != "green"
    assert armature.deviation is None or not bool(torch.as_tensor(armature.deviation).isfinite().all())


def test_readers_agree(tmp_path: Path, swing: np.ndarray) -> None:
    columns = {"joint_position": ["q1", "q2"], "joint_velocity": ["v1", "v2"]}
    units = {"joint_position": "deg"}
    files = [write_csv(tmp_path / "a.csv", swing), write_csv(tmp_path / "b.csv", swing, ";"),
             write_csv(tmp_path / "c.csv.gz", swing, "\t")]  # fmt: skip
    np.savez(tmp_path / "d.npz", t=swing[:, 0], q=np.degrees(swing[:, 1:3]), v=swing[:, 3:5])
    first = Recording(str(files[0]), columns=columns, units=units, time="t").read()[0]
    assert first.fixed
    assert first.rate == pytest.approx(RATE)
    for place in files[1:]:
        other = Recording(str(place), columns=columns, units=units, time="t").read()[0]
        np.testing.assert_array_equal(other.joint_position, first.joint_position)
    named = {"joint_position": ["q[0]", "q[1]"], "joint_velocity": ["v[0]", "v[1]"]}
    arrays = Recording(str(tmp_path / "d.npz"), columns=named, units=units, time="t").read()[0]
    np.testing.assert_allclose(arrays.joint_position, first.joint_position, atol=1e-9)
    both = Recording([str(files[0]), str(files[1])], columns=columns, units=units, time="t").read()
    assert [clip.name for clip in both] == ["a:0", "b:0"]


def test_a_parquet_table_is_read(tmp_path: Path, swing: np.ndarray) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    state = pyarrow.array([row.tolist() for row in swing[:, 1:3]])
    parquet.write_table(pyarrow.table({"t": swing[:, 0], "state": state}), tmp_path / "a.parquet")
    columns = {"joint_position": ["state[0]", "state[1]"]}
    clip = Recording(str(tmp_path / "a.parquet"), columns=columns, time="t").read()[0]
    np.testing.assert_array_equal(clip.joint_position, swing[:, 1:3])


def test_uneven_times_are_resampled(tmp_path: Path, swing: np.ndarray) -> None:
    kept = np.delete(swing, np.arange(1, FRAMES, 5), axis=0)
    place = write_csv(tmp_path / "uneven.csv", kept)
    clip = Recording(
        str(place), 50.0, {"joint_position": ["q1", "q2"]}, units={"joint_position": "deg"}, time="t"
    ).read()[0]
    assert len(clip) == (FRAMES + 1) // 2
    assert np.abs(clip.joint_position - swing[::2, 1:3]).max() < 5e-3
    back = write_csv(tmp_path / "back.csv", swing[::-1])
    with pytest.raises(InputError, match="its times must grow from frame to frame"):
        Recording(str(back), columns={"joint_position": ["q1"]}, time="t").read()


def test_everything_that_is_missing_is_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "bare.toml").write_text("[recording]\ncolumns = { velocity = ['a'] }\n")
    with pytest.raises(InputError) as caught:
        load_motion(tmp_path / "bare.toml")
    told = str(caught.value)
    lines = (
        "model: this is missing", "recording.file: this is missing", "unknowns: this is missing", "such as",
        "recording.columns.velocity: got ['a']", 'joint_position = ["q1", "q2"]', "rate = 100",
    )  # fmt: skip
    for words in lines:
        assert words in told, told


def test_units_and_joints_that_do_not_fit_are_refused(tmp_path: Path, swing: np.ndarray) -> None:
    place = write_csv(tmp_path / "swing.csv", swing)
    (tmp_path / "swing.toml").write_text(FILE)
    with pytest.raises(InputError, match="got 1 joints; the tree has 2"):
        load_motion(tmp_path / "swing.toml", ("recording.columns={joint_position=['q1']}",))
    with pytest.raises(InputError, match="no column 'q3'; it has t, q1"):
        Recording(str(place), 100.0, {"joint_position": ["q3"]}).read()
    with pytest.raises(InputError, match="expected in rad"):
        Recording(str(place), 100.0, {"joint_position": ["q1"]}, units={"joint_position": "kg"}).read()
    turned = Recording(str(place), 100.0, {"joint_position": ["q1"]}, units={"joint_position": "deg"}).read()[0]
    assert float(turned.joint_position[0, 0]) == pytest.approx(math.radians(np.degrees(swing[0, 1])), rel=1e-6)
