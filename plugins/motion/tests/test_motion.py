"""Measured motion: clips from files, starts, residuals, and fits that find what made the clips."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from diffloom import simulate
from diffloom.interfaces import BatchError, InputError
from diffloom_fitting import Adam, GaussNewton, Lbfgs, Stop, Unknown, run_fit
from diffloom_geometry.rotations import (
    multiply_quaternions,
    quaternions_from_vectors,
    rotate_vectors,
    rotation_vectors,
    rotation_vectors_between,
)
from diffloom_motion import (
    Clip,
    MotionExperiment,
    MotionScene,
    MotionStage,
    OwnStart,
    Recording,
    StartRules,
    fit_motion,
    load_motion,
    score_clips,
)
from diffloom_motion.files import split_clips
from diffloom_motion.schema import ClipsTable
from diffloom_motion.starts import count_flight_frames, find_starts
from diffloom_testing import check_gradient

rigid = pytest.importorskip("diffloom_physics_rigid.model")
RATE, FRAMES, SUBSTEPS = 100.0, 30, 10
KNOWN = {"gravity": [0.0, 0.0, -9.81], "ground_normal": [0.0, 0.0, 1.0]}
TRUTH = {"friction": 0.25, "contact_dissipation": 1.5, "centre_of_mass": [0.003, -0.002, 0.006], "scale": 0.97}
RULES = StartRules(KNOWN, SUBSTEPS, rotation_length=0.05)


def cube() -> object:
    body = {"shape": "box", "size": 0.1, "mass": 0.4, "contact_stiffness": 4e3}
    return rigid.RigidModel([body], contact={"law": "hunt_crossley", "toe": 2e-3})


@pytest.fixture(scope="module")
def tosses() -> list[Clip]:
    """Clips of five random tosses of a cube whose centre of mass is off, recorded 3 % too small."""
    random, count = np.random.default_rng(23), 5
    model = cube().copies(count)
    values = {name: value for name, value in TRUTH.items() if name != "scale"}
    start = {"position": np.c_[np.zeros((count, 2)), random.uniform(0.16, 0.2, count)],
             "orientation": random.normal(size=(count, 4)),
             "velocity": random.normal(0.0, 0.5, (count, 3)) - [0.0, 0.0, 0.5],
             "angular_velocity": random.normal(0.0, 3.0, (count, 3))}  # fmt: skip
    params = model.params(torch.float64, **KNOWN, **values, **start)
    path = simulate(model, params, dt=1.0 / (RATE * SUBSTEPS), steps=SUBSTEPS * (FRAMES - 1), save_every=SUBSTEPS)
    poses = model.frames(path, params).numpy()
    assert (poses[:, :, 2].min(axis=0) < 0.09).all(), "a toss has not touched the ground"
    signs = random.choice([-1.0, 1.0], FRAMES)[:, None]
    centre = rotate_vectors(path.q[..., 3:], torch.tensor(TRUTH["centre_of_mass"], dtype=torch.float64))
    speed = (path.u[..., :3] - torch.linalg.cross(path.u[..., 3:], centre)).numpy()
    return [
        Clip(str(i), RATE, TRUTH["scale"] * poses[:, i, :3], signs * poses[:, i, 3:], np.ones(FRAMES),
             TRUTH["scale"] * speed[:, i], path.u[:, i, 3:].numpy())
        for i in range(count)
    ]  # fmt: skip


def shared(*names: str) -> list[Unknown]:
    every = {
        "friction": Unknown("friction", 0.4),
        "contact_dissipation": Unknown("contact_dissipation", "1 s/m"),
        "centre_of_mass": Unknown("centre_of_mass", [0.0, 0.0, 0.0], scale=0.01),
        "scale": Unknown("scale", 1.0, scale=0.1),
    }
    return [every[name] for name in names]


def test_turns_know_no_sign_and_come_back() -> None:
    vector = torch.tensor([[0.3, -0.2, 0.5], [0.0, 0.0, 0.0], [0.0, 3.1, 0.0]], dtype=torch.float64)
    turn = quaternions_from_vectors(vector)
    np.testing.assert_allclose(rotation_vectors(-turn).numpy(), vector.numpy(), atol=1e-12)
    twice, ahead = multiply_quaternions(turn, turn), torch.tensor([1.0, 0.0, 0.0]).double()
    np.testing.assert_allclose(rotation_vectors_between(twice, -turn).numpy(), vector.numpy(), atol=1e-12)
    np.testing.assert_allclose(rotate_vectors(turn[2], ahead)[2], -np.sin(3.1), atol=1e-12)

    def there_and_back(v: Tensor) -> Tensor:
        return rotation_vectors(quaternions_from_vectors(v)).square().sum(dim=1)

    check_gradient(there_and_back, {"v": vector}, tolerance=1e-6)


def test_a_fit_finds_what_made_the_clips_and_scores_those_kept_aside(tosses: list[Clip]) -> None:
    rules = replace(RULES, start="sample")
    problem, aside = MotionScene(cube(), tosses[:4], rules), MotionScene(cube(), tosses[4:], rules)
    stages = [
        MotionStage(frames=15, iterations=10, fixed=("contact_dissipation",)),
        MotionStage(frames=22, iterations=10),
        MotionStage(iterations=12, stop=Stop(change=1e-9)),
    ]
    found = fit_motion(problem, shared(*TRUTH), stages, holdout=aside)
    for estimate in found.estimates:
        np.testing.assert_allclose(estimate.found, TRUTH[estimate.name], rtol=1e-4, atol=1e-6, err_msg=estimate.name)
    assert found.scores["holdout"].mean_position < 1e-5
    assert found.scores["holdout"].mean_degrees < 1e-2
    assert found.holdout_loss < 1e-6 * found.holdout_start_loss
    assert found.loss < 1e-6 * found.start_loss
    # Four clips are fewer than six numbers: parts of clips give ±.
    assert all(bool((estimate.deviation > 0.0).all()) for estimate in found.estimates)
    assert "parts of 6 frames disagree" in found.uncertainty.meaning
    assert found.verdict.explained.level == found.verdict.visible.level == "green"
    told = fit_motion(problem, shared("friction"), [MotionStage(frames=15, iterations=6)])
    assert float(told.estimates[0].deviation) > 0.0
    # The centre of mass is taken to be elsewhere than it is, and the scale to be 1.
    assert told.verdict.converged.level == told.verdict.identifiable.level == "green"
    assert told.verdict.explained.level == "amber", told.verdict


def test_gradients_by_scale_and_centre_pass_through_the_start(tosses: list[Clip]) -> None:
    problem = MotionScene(cube(), tosses[:2], RULES)

    def loss(**values: Tensor) -> Tensor:
        return problem.residuals(problem.groups[0], values).square().sum()

    inputs = {name: torch.tensor(value, dtype=torch.float64).reshape(-1) for name, value in TRUTH.items()}
    inputs["centre_of_mass"] = inputs["centre_of_mass"] + 1e-3
    check_gradient(loss, inputs, tolerance=1e-6, step=1e-6)


def test_own_starts_are_taken_out_clip_by_clip(tosses: list[Clip]) -> None:
    rules = StartRules(KNOWN, SUBSTEPS, 0.05, own=OwnStart({"velocity": 0.02, "angular_velocity": 0.1}, noise=1e-3))
    experiment = MotionExperiment(MotionScene(cube(), tosses[:3], rules), shared("friction", "scale"))
    objective = replace(experiment.objective(), frames=16)
    z = torch.cat([torch.tensor([-1.2, 0.1]), torch.full((18,), 0.05)]).double()
    half, arrow = objective.linearise(z).half, objective.linearise(z).curvature
    # Equal to residuals taken entry by entry, with an equal step from the whole matrix.
    whole = torch.stack([arrow @ way for way in torch.eye(20, dtype=torch.float64)])
    ways = 1e-5 * torch.eye(20, dtype=torch.float64)
    J = torch.stack([(objective.residuals(z + way) - objective.residuals(z - way)) / 2e-5 for way in ways])
    np.testing.assert_allclose(whole, J @ J.T / J.shape[1], rtol=1e-6, atol=1e-9 * float(whole.max()))
    np.testing.assert_allclose(half, J @ objective.residuals(z) / J.shape[1], rtol=1e-5, atol=1e-9)
    np.testing.assert_allclose(2.0 * half, objective.evaluate(z).gradient, rtol=1e-4, atol=1e-8)
    damped = 1e-2 * arrow.diagonal()
    expected = torch.linalg.solve(whole + torch.diag(damped), -half)
    np.testing.assert_allclose(arrow.solve(damped, -half), expected, rtol=1e-6, atol=1e-12)


def test_columns_side_by_side_are_those_of_one_after_the_other(
    tosses: list[Clip], monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = StartRules(KNOWN, SUBSTEPS, 0.05, own=OwnStart({"velocity": 0.02, "orientation": 0.1}, noise=1e-3))
    scene, names = MotionScene(cube(), tosses[:3], rules), ("friction", "scale", "centre_of_mass")
    objective = replace(MotionExperiment(scene, shared(*names)).objective(), frames=24)
    z = torch.cat([torch.full((5,), 0.1), torch.full((18,), 0.05)]).double()
    simulated: list[int] = []

    def spy(model: object, params: object, **how: object) -> object:
        simulated.append(1)
        return simulate(model, params, **how)

    monkeypatch.setattr("diffloom_motion.scene.simulate", spy)
    together = objective.linearise(z)
    assert len(simulated) == 2, "the place itself, and 22 beside it in one call"

    def refused(*given: object, **how: object) -> None:
        raise BatchError("this model runs alone")

    monkeypatch.setattr(torch, "vmap", lambda *given, **how: refused)
    alone = objective.linearise(z)
    assert len(simulated) == 2 + 1 + 22
    assert torch.equal(together.half, alone.half)
    assert torch.equal(together.curvature.own, alone.curvature.own)
    assert (together.curvature.diagonal() > 0.0).all(), "every unknown shows"


@pytest.mark.parametrize("optimiser", [GaussNewton(), Lbfgs(), Adam(0.05)], ids=lambda each: type(each).__name__)
def test_every_optimiser_runs_on_clips(tosses: list[Clip], optimiser: GaussNewton | Lbfgs | Adam) -> None:
    known = {**KNOWN, **{name: value for name, value in TRUTH.items() if name not in ("scale", "friction")}}
    scene = MotionScene(cube(), tosses, replace(RULES, start="sample", params=known))
    found = fit_motion(scene, shared("friction", "scale"), [MotionStage(optimiser, 120, stop=Stop(), frames=18)])
    exact = 1e-2 if isinstance(optimiser, Adam) else 1e-5
    assert float(found["friction"]) == pytest.approx(TRUTH["friction"], rel=exact)
    assert float(found["scale"]) == pytest.approx(TRUTH["scale"], rel=exact)


def test_a_fit_from_several_starts_resumes_to_the_same_bits(tosses: list[Clip]) -> None:
    scene = MotionScene(cube(), tosses[:3], replace(RULES, own=OwnStart({"velocity": 0.02}, noise=1e-3)))
    stages = (MotionStage(frames=12, iterations=2, fixed=("scale",)), MotionStage(frames=16, iterations=3))
    starts = tuple({"friction": torch.tensor(value, dtype=torch.float64)} for value in (0.2, 0.6))
    experiment = MotionExperiment(scene, shared("friction", "scale"), stages, starts=starts)
    kept = []
    whole = run_fit(experiment, observer=lambda state, record: kept.append((state, record)))
    assert {record.start for record in whole.history} == {0, 1, 2}
    for after in (1, 4, len(kept) - 2):
        again = run_fit(experiment, state=kept[after][0], history=[record for _, record in kept[: after + 1]])
        assert torch.equal(again.z, whole.z)
        assert again.verdict == whole.verdict


def test_an_outlier_pulls_less_under_a_robust_loss(tosses: list[Clip]) -> None:
    broken = tosses[0].position.copy()
    broken[20] += 0.5
    clips = [Clip("bad", RATE, broken, tosses[0].orientation, tosses[0].weight), *tosses[1:3]]
    known = {name: value for name, value in TRUTH.items() if name not in ("scale", "friction")}
    problem = MotionScene(cube(), clips, StartRules({**KNOWN, **known}, SUBSTEPS, 0.05))
    errors = {}
    for loss in ("squares", "huber", "cauchy"):
        found = fit_motion(problem, shared("friction", "scale"), loss=loss, threshold=2e-3)
        errors[loss] = abs(float(found["scale"]) - TRUTH["scale"])
    assert errors["huber"] < 0.2 * errors["squares"]
    assert errors["cauchy"] < 0.1 * errors["squares"]


def test_clips_from_csv_and_npz_with_missing_samples(tmp_path: Path, tosses: list[Clip]) -> None:
    random = np.random.default_rng(1)
    place, turn = random.normal(size=(7, 3)), random.normal(size=(7, 4))
    spin = random.normal(size=(7, 3))
    rows = np.c_[place, turn, spin]
    rows[4, 1] = np.nan
    np.savez(tmp_path / "clips.npz", rows=rows, lengths=[5, 2])
    columns = {"position": [0, 1, 2], "orientation": [3, 4, 5, 6], "angular_velocity": [7, 8, 9]}
    first, second = Recording("clips.npz", 50.0, columns, unit=0.01, axes="body").read(tmp_path)
    assert (len(first), len(second), first.weight.tolist()) == (5, 2, [1.0, 1.0, 1.0, 1.0, 0.0])
    np.testing.assert_allclose(first.position[:4], 0.01 * place[:4])
    assert first.angular_velocity is not None
    np.testing.assert_allclose(np.linalg.norm(first.angular_velocity[:4], axis=1), np.linalg.norm(spin[:4], axis=1))
    assert np.abs(first.angular_velocity[0] - spin[0]).max() > 1e-3
    lines = [
        "toss,x,y,z,w",
        *(f"{'a' if i < 5 else 'b'},{p[0]},{p[1] if i != 4 else ''},{p[2]},2" for i, p in enumerate(place)),
    ]
    (tmp_path / "markers.csv").write_text("\n".join(lines))
    named = {"position": ["x", "y", "z"], "weight": ["w"]}
    marker, _ = Recording("markers.csv", 50.0, named, clip="toss").read(tmp_path)
    assert marker.orientation is None
    assert marker.weight.tolist() == [2.0, 2.0, 2.0, 2.0, 0.0]
    assert [len(window) for window in tosses[0].windows(12, 10)] == [12, 12, 10]
    for given, words in (
        (lambda: Recording("none.npz", 50.0, columns), "set DIFFLOOM_REAL_DATA"),
        (lambda: Recording("clips.npz", 50.0, {**columns, "position": [0, 1, 12]}), "the file has 0 to 9"),
        (lambda: Recording("clips.npz", 50.0, columns, lengths="sizes"), "no array 'sizes'"),
        (lambda: Recording("clips.npz", 50.0, {"orientation": [3, 4, 5, 6]}), "got no position"),
        (lambda: Recording("markers.csv", 50.0, {"position": ["x", "y", "q"]}), "no column 'q'"),
    ):
        with pytest.raises(InputError, match=words):
            given().read(tmp_path)


def test_starts_from_flight_and_from_a_sample(tosses: list[Clip]) -> None:
    counts = [count_flight_frames(clip, 2e-4) for clip in tosses]
    assert min(counts) >= 5
    assert max(counts) < FRAMES - 5
    with pytest.raises(InputError, match="needs velocity"):
        find_starts([replace(tosses[0], velocity=None)], "sample")
    scale, centre = torch.tensor([TRUTH["scale"]]).double(), torch.tensor(TRUTH["centre_of_mass"]).double()
    pull = torch.tensor(KNOWN["gravity"], dtype=torch.float64)
    (place, velocity), (same, speed) = (
        find_starts(tosses, rule).state(scale, centre, pull) for rule in ("flight", "sample")
    )
    # A parabola, where steps of a millisecond make g dt / 2 of a difference in velocity.
    np.testing.assert_allclose(place.numpy(), same.numpy(), atol=1e-4)
    np.testing.assert_allclose(velocity.numpy(), speed.numpy(), atol=1e-2)
    np.testing.assert_allclose(find_starts(tosses).angular_velocity, [c.angular_velocity[0] for c in tosses], atol=2e-2)
    turn = tosses[0].orientation[:1] * np.ones((2, 1))
    still = Clip("s", RATE, np.array([[1.0, 2.0, 3.0]] * 2), turn, np.ones(2), np.array([[4.0, 5.0, 6.0]] * 2),
                 np.array([[0.0, 0.0, 2.0]] * 2))  # fmt: skip
    centre = torch.tensor([0.1, 0.0, 0.0], dtype=torch.float64)
    place, velocity = find_starts([still], "sample").state(torch.ones(1).double(), centre, torch.zeros(3).double())
    arm = rotate_vectors(torch.tensor(turn[0]), centre)
    np.testing.assert_allclose(place[0].numpy(), arm.numpy() + [1.0, 2.0, 3.0], rtol=1e-9)
    np.testing.assert_allclose(velocity[0].numpy(), np.cross([0.0, 0.0, 2.0], arm.numpy()) + [4.0, 5.0, 6.0], rtol=1e-5)


def test_a_marker_in_a_ball_needs_no_orientation() -> None:
    ball = {"shape": "sphere", "radius": 0.05, "mass": 0.1, "friction": 0.3, "contact_stiffness": 2e3}
    model = rigid.RigidModel([{**ball, "position": [0.0, 0.0, 0.1]}], contact={"law": "hunt_crossley", "toe": 2e-3})
    params = model.params(torch.float64, **KNOWN, velocity=[0.5, 0.0, -0.3], contact_dissipation=0.8)
    path = simulate(model, params, dt=1.0 / (RATE * SUBSTEPS), steps=SUBSTEPS * (FRAMES - 1), save_every=SUBSTEPS)
    speed = np.tile([0.5, 0.0, -0.3], (FRAMES, 1))
    clip = Clip("ball", RATE, path.q[:, 0, :3].numpy(), None, np.ones(FRAMES), speed)
    problem = MotionScene(model, [clip], replace(RULES, start="sample"))
    found = fit_motion(
        problem, shared("contact_dissipation"), [MotionStage(frames=18), MotionStage(stop=Stop(change=1e-8))]
    )
    assert float(found["contact_dissipation"]) == pytest.approx(0.8, rel=1e-5)
    assert found.scores["fit"].mean_degrees == 0.0


def test_scores_are_means_over_frames(tosses: list[Clip]) -> None:
    values = {name: torch.tensor(value, dtype=torch.float64).reshape(-1) for name, value in TRUTH.items()}
    near = score_clips(MotionScene(cube(), tosses, RULES), values)
    moved = [Clip(c.name, RATE, c.position + np.where(np.arange(FRAMES) > 20, 0.01, 0.0)[:, None] * [1, 0, 0],
                  c.orientation, c.weight) for c in tosses]  # fmt: skip
    far = score_clips(MotionScene(cube(), moved, RULES), values)
    # A centimetre off in the last nine of thirty frames.
    np.testing.assert_allclose(far["position"], 0.01 / TRUTH["scale"] * 9 / 30, atol=near["position"].max() + 1e-5)
    assert near["position"].max() < 1e-3
    np.testing.assert_allclose(far["rotation"], near["rotation"], atol=1e-9)


FILE = """
substeps = 10
width = 0.1
[model]
name = "rigid"
contact = { law = "hunt_crossley", toe = 2e-3 }
[[model.bodies]]
shape = "box"
size = 0.1
mass = 0.4
contact_stiffness = 4e3
[params]
gravity = [0.0, 0.0, -9.81]
ground_normal = [0.0, 0.0, 1.0]
contact_dissipation = "1.5 s/m"
[recording]
file = "none.npz"
rate = 100
columns = { position = [0, 1, 2], orientation = [3, 4, 5, 6], velocity = [7, 8, 9], angular_velocity = [10, 11, 12] }
[clips]
fit = "0:3"
holdout = "3:"
[start]
rule = "sample"
[loss]
rotation_length = 0.05
[unknowns.friction]
start = 0.4
[unknowns.scale]
start = 1.0
scale = 0.1
[unknowns.centre_of_mass]
start = [0.002, -0.002, 0.005]
space = "free"
scale = 0.01
[documented]
friction = 0.25
[[stages]]
frames = 18
[[stages]]
stop.change = 1e-6
"""


def test_a_file_runs_and_another_recording_is_one_key(tmp_path: Path, tosses: list[Clip]) -> None:
    from click.testing import CliRunner

    from diffloom_studio.commands.run import run

    rows = np.concatenate([np.c_[c.position, c.orientation, c.velocity, c.angular_velocity] for c in tosses])
    np.savez(tmp_path / "tosses.npz", rows=rows, lengths=[len(c) for c in tosses])
    file = tmp_path / "cube.toml"
    file.write_text(FILE)
    absent = CliRunner().invoke(run, [str(file)])
    assert "set DIFFLOOM_REAL_DATA" in str(absent.exception)
    done = CliRunner().invoke(
        run, [str(file), "--set", f"recording.file={tmp_path / 'tosses.npz'}", "--out", str(tmp_path / "out")],
        catch_exceptions=False,
    )  # fmt: skip
    assert "holdout clips: position 0.00 % of the width" in done.output, done.output
    assert "how much parts of 4 frames disagree" in " ".join(done.output.split())
    kept = json.loads((tmp_path / "out" / "result.json").read_text())
    found = {each["name"]: each["found"] for each in kept["estimates"]}
    assert found["friction"] == pytest.approx(0.25, rel=1e-3)
    assert found["scale"] == pytest.approx(0.97, rel=1e-4)
    assert len(kept["scores"]["holdout"]["rotation"]) == 2
    for change, words in (
        ("clips.holdout=2:", "both in fit and in holdout"),
        ("clips.fit=9:", "names none of the 5 clips"),
        ("clips.holdout=9:", 'or "rest" for all that are not fitted'),
        ("clips.share=0.0", "expected more than 0"),
        ("loss.name=absolute", "squares"),
        ("unknowns.friction.start=-1.0", "log space"),
    ):
        with pytest.raises(InputError, match=words):
            load_motion(file, [f"recording.file={tmp_path / 'tosses.npz'}", change])


@pytest.mark.parametrize(
    ("count", "fitted", "aside"),
    [(380, range(100), range(100, 380)), (60, range(30), range(30, 60)), (5, range(2), range(2, 5)), (2, [0], [1])],
)
def test_the_same_ranges_part_recordings_of_any_length(
    tosses: list[Clip], count: int, fitted: Sequence[int], aside: Sequence[int]
) -> None:
    clips = [replace(tosses[0], name=str(i)) for i in range(count)]
    table = ClipsTable(fit="0:100", share=0.5, holdout="rest")
    fit, holdout = split_clips(clips, table)
    assert [clip.name for clip in fit] == [str(i) for i in fitted]
    assert [clip.name for clip in holdout] == [str(i) for i in aside]
    few = split_clips(clips, table.model_copy(update={"holdout_limit": 3}))[1]
    assert len(few) == min(3, len(aside))
    assert (few[0].name, few[-1].name) == (holdout[0].name, holdout[-1].name)


def test_a_recording_that_leaves_nothing_to_judge_by_is_refused(tosses: list[Clip]) -> None:
    with pytest.raises(InputError, match="1 of 1 clips are fitted, so none is left for the holdout; lower clips.share"):
        split_clips(tosses[:1], ClipsTable(fit="0:100", share=0.5, holdout="rest"))
    assert split_clips(tosses[:1], ClipsTable(fit="0:100")) == ([tosses[0]], [])


@pytest.mark.slow
@pytest.mark.skipif(not os.environ.get("DIFFLOOM_REAL_DATA"), reason="DIFFLOOM_REAL_DATA names no folder of real data")
def test_the_real_cube_in_short() -> None:
    """Eight real tosses and the first impacts: the centre of mass shows, and the scale."""
    file = Path(__file__).resolve().parents[3] / "experiments" / "real" / "real-cube.toml"
    found = run_fit(load_motion(file, quick=True))
    assert float(found["friction"]) == pytest.approx(0.18, rel=0.2)
    assert float(found["scale"]) == pytest.approx(0.98, abs=0.03)
    assert float(found["centre_of_mass"][2]) == pytest.approx(6e-3, abs=2e-3)
