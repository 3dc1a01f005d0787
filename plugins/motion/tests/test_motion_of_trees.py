"""Measured motion of trees: joints as targets, starts that follow the flight, and rows of parameters as unknowns."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
import torch

from diffloom import simulate
from diffloom.interfaces import InputError
from diffloom_fitting import Stop, Unknown
from diffloom_motion import (
    Clip,
    MotionScene,
    MotionStage,
    OwnStart,
    Recording,
    StartRules,
    fit_motion,
    load_motion,
    score_clips,
    settle_starts,
)
from diffloom_motion.starts import fit_joint_start

articulated = pytest.importorskip("diffloom_physics_articulated.model")
RATE, FRAMES, SUBSTEPS = 100.0, 36, 12
KNOWN = {"gravity": [0.0, 0.0, -9.81], "ground_normal": [0.0, 0.0, 1.0], "damping[6]": 2e-3}
FREE = {
    "position": 0.01, "orientation": 0.1, "velocity": 0.3, "angular_velocity": 3.0, "joint_position": 0.1,
    "joint_velocity": 3.0,
}  # fmt: skip
RULES = StartRules(KNOWN, SUBSTEPS, 0.05, "fitted", 0.01, OwnStart(FREE, joints=1))
HINGE, FRICTION = (-0.032, 0.055, 0.002), 0.25


def elbow() -> object:
    box = {"shape": "box", "size": [0.1, 0.05, 0.05]}
    links = [
        {"name": "upper", "joint": "free", "shapes": [{**box, "mass": 0.3}]},
        {"name": "fore", "parent": "upper", "axis": [0, 1, 0], "position": [-0.035, 0.06, 0.0],
         "shapes": [{**box, "position": [0.035, 0.0, 0.0], "mass": 0.3}]},
    ]  # fmt: skip
    return articulated.ArticulatedModel([{"links": links}], ground=True, contact={"toe": 1e-3})


@pytest.fixture(scope="module")
def tosses() -> list[Clip]:
    """Four random tosses of an elbow whose hinge is elsewhere."""
    random, count = np.random.default_rng(4), 4
    model = elbow().copies(count)  # type: ignore[attr-defined]
    start = {
        "position": np.array([0.0, 0.0, 0.16]) + 0.01 * random.normal(size=(count, 3)),
        "orientation": random.normal(size=(count, 4)), "velocity": random.normal(size=(count, 3)) * [0.5, 0.5, 0.1],
        "angular_velocity": 2.0 * random.normal(size=(count, 3)), "joint_position": random.normal(size=(count, 1)),
        "joint_velocity": 2.0 * random.normal(size=(count, 1)),
    }  # fmt: skip
    values = model.copied_values({**KNOWN, "frame_position[fore]": HINGE, "friction": FRICTION})
    params = model.params(
        torch.float64, **values, **model.start_values({key: torch.tensor(value) for key, value in start.items()})
    )
    steps = SUBSTEPS * (FRAMES - 1)
    path = simulate(model, params, dt=1.0 / (RATE * SUBSTEPS), steps=steps, save_every=SUBSTEPS)
    poses, joints = model.frames(path, params).numpy(), model.joint_coordinates(path).numpy()
    wrapped = (joints + np.pi) % (2.0 * np.pi) - np.pi
    return [
        Clip(str(i), RATE, poses[:, i, :3], poses[:, i, 3:], np.ones(FRAMES), joint_position=wrapped[:, i])
        for i in range(count)
    ]


def test_hinge_and_friction_are_found(tosses: list[Clip]) -> None:
    problem = MotionScene(elbow(), tosses, RULES)  # type: ignore[arg-type]
    flown = problem.groups[0].flight.sum(dim=0)
    assert bool((flown >= 4).all()) and bool((flown < FRAMES).all())
    shared = [Unknown("frame_position[fore]", [-0.035, 0.06, 0.0], scale=0.01), Unknown("friction", 0.4)]
    stages = [MotionStage(frames=20, iterations=8), MotionStage(iterations=12, stop=Stop(change=1e-6))]
    found = fit_motion(problem, shared, stages)
    assert np.abs(found["frame_position[fore]"].numpy() - HINGE).max() < 2e-4
    assert abs(float(found["friction"]) - FRICTION) < 0.01
    values = {"frame_position[fore]": torch.tensor(HINGE).double(), "friction": torch.tensor([FRICTION]).double()}
    far = score_clips(problem, {**values, **settle_starts(problem, values)})
    # Starts from the flight alone, with the true parameters: the error is the chaos of impacts.
    assert far.mean_position < 2e-3 and far.mean_joint_degrees < 3.0


def test_joint_starts_are_unwrapped() -> None:
    turned = 3.0 + 0.1 * np.arange(8.0)[:, None]
    found = fit_joint_start((turned + np.pi) % (2.0 * np.pi) - np.pi, 50.0)
    assert np.allclose(found[:, 0], [3.0, 5.0])


def test_bad_unknowns_and_trees_are_refused(tosses: list[Clip]) -> None:
    with pytest.raises(InputError, match="no link is called 'fort'"):
        elbow().copied_values({"mass[fort]": 1.0})  # type: ignore[attr-defined]
    fixed = articulated.ArticulatedModel([{"builder": "pendulum"}])
    with pytest.raises(InputError, match="its base is fixed and the recording's is floating"):
        MotionScene(fixed, tosses[:1], StartRules(start="fitted"))
    with pytest.raises(InputError, match="joint_position"):
        Recording("x.npz", 100.0, {"position": (0, 1, 2), "joint_position": ()})
    scene = MotionScene(elbow(), tosses[:1], RULES)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="pattern for each"):
        fit_motion(scene, [Unknown("inertia", [1.0, 2.0], along=[[1, 0, 0, 0, 0, 0]])])


def test_the_elbow_says_what_it_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DIFFLOOM_REAL_DATA", raising=False)
    file = Path(__file__).parents[3] / "experiments" / "real" / "real-elbow.toml"
    with pytest.raises(InputError, match="set DIFFLOOM_REAL_DATA"):
        load_motion(file)


def test_windows_stand_on_the_ground_of_their_clip(tosses: list[Clip], tmp_path: Path) -> None:
    clips = [(c.position, c.orientation, c.joint_position) for c in tosses[:3]]
    rows = [np.concatenate([turn, place, joint], axis=1) for place, turn, joint in clips]  # type: ignore[list-item]
    np.savez(tmp_path / "tosses.npz", rows=np.concatenate(rows), lengths=[len(piece) for piece in rows])
    file = Path(__file__).parents[3] / "experiments" / "real" / "real-elbow.toml"
    given = {"recording.file": tmp_path / "tosses.npz", "recording.level": [0.0, 0.0, 1.0], "clips.windows": [6, 6]}
    settings = [f"{key}={value}" for key, value in given.items()]
    windows = load_motion(file, (*settings, "clips.fit=0:1", "clips.holdout=1:3")).scene.clips
    moved = [w.position - rows[0][(at := int(w.name.split("@")[1])) : at + len(w), 4:7] for w in windows]
    assert len(windows) > 2
    assert np.ptp(np.concatenate(moved), axis=0).max() < 1e-12


@pytest.mark.slow
@pytest.mark.skipif("DIFFLOOM_REAL_DATA" not in os.environ, reason="set DIFFLOOM_REAL_DATA to the folder of the data")
def test_real_elbow_flies_as_simulated() -> None:
    """Six real tosses, nothing fitted but their starts: the flight is followed to a millimetre."""
    file = Path(__file__).parents[3] / "experiments" / "real" / "real-elbow.toml"
    experiment = load_motion(file, ("clips.fit=0:6", "clips.holdout=6:8", "clips.windows=[121, 121]"))
    scene = experiment.scene
    place, _, _ = scene.errors(scene.groups[0], settle_starts(scene, {}), 12)
    flown = scene.groups[0].flight[:12].bool()
    assert float(place.norm(dim=2)[flown].median()) < 1e-3
