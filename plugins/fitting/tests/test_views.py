"""Several cameras: one simulation, a target for each view, one fit."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from click.testing import CliRunner
from fitting_toys import ToyModel, ToyRenderer, ToySteps
from toy_file import TOY

from diffloom.interfaces import Camera, InputError
from diffloom_experiments import build_experiment, load_file
from diffloom_experiments.run_folder import RunFolder
from diffloom_fitting import (
    Experiment,
    GaussNewton,
    MovingCamera,
    Orbit,
    PixelError,
    Scene,
    Target,
    Targets,
    Unknown,
    Viewpoint,
    Waypoint,
    check_gradient,
    fit,
    synthesise,
    synthesise_views,
)
from diffloom_fitting.landscape import Axis, evaluate_grid
from diffloom_fitting.trust.uncertainty import Uncertainty, estimate_uncertainty
from diffloom_studio.commands.forward import render, simulate
from diffloom_studio.commands.run import run
from diffloom_studio.report.media import write_video

D = torch.float64
FRONT = Orbit(distance=5.0, elevation=10.0, size=(16, 16))
SIDE = Orbit(distance=4.0, elevation=5.0, azimuth=90.0, size=(12, 20))
VIEWS = """
[[views]]
label = "front"
[[views]]
label = "side"
time_offset = 0.04
[views.camera]
azimuth = 90
size = [12, 20]
[views.target]
rate = 50
"""


def scene_of(camera):
    model = ToyModel()
    return Scene(model, ToyRenderer(sigma=2.0), camera, model.params(D), dt=0.02, steps=20, integrator=ToySteps())


def experiment_of(camera, truth=None, unknowns=("velocity",), **more):
    scene = scene_of(camera)
    truth = truth or {"velocity": [[1.1, 1.8, -0.6]]}
    made = synthesise_views if len(scene.viewpoints) > 1 else synthesise
    return Experiment(scene, made(scene, truth, rate=25.0), [Unknown(name) for name in unknowns], **more)


TWO = {"front": FRONT, "side": Viewpoint(SIDE, time_offset=0.1)}


def test_the_loss_is_the_mean_over_views_and_of_the_residuals_squares():
    objective = experiment_of(TWO).objective()
    z = torch.tensor([0.9, 2.1, 0.2], dtype=D)
    each = []
    for label, target in objective.target.by_view().items():
        alone = replace(objective, scene=objective.scene.select_view(label), target=Targets({label: target}))
        each.append(alone.value(z).value)
    assert each[0] != pytest.approx(each[1], rel=0.1)
    assert objective.value(z).value == pytest.approx(sum(each) / 2, rel=1e-12)
    assert objective.losses(z) == pytest.approx({"front": each[0], "side": each[1]}, rel=1e-12)
    # images of 16x16 and 12x20 pixels: every view counts the same all the same
    assert float(objective.residuals(z).square().mean()) == pytest.approx(sum(each) / 2, rel=1e-12)
    assert [tuple(f.shape[1:3]) for f in objective.residual_fields(z)] == [(16, 16), (12, 20)]


def test_one_simulation_serves_all_views(monkeypatch):
    objective, runs = experiment_of(TWO).objective(), []
    plain = Scene.rollout
    monkeypatch.setattr(Scene, "rollout", lambda *given, **more: runs.append(1) or plain(*given, **more))
    objective.evaluate(torch.tensor([0.9, 2.1, 0.2], dtype=D))
    assert len(runs) == 1


def test_the_gradient_of_all_views_is_exact():
    experiment = experiment_of(TWO, unknowns=("velocity", "gravity", "camera.side.azimuth", "camera.front.distance"))
    found = check_gradient(experiment.objective(), experiment.start(), tolerance=1e-6)
    assert found.passed, found
    gradient = experiment.objective().evaluate(experiment.start()).gradient
    assert bool((gradient != 0.0).all())


def test_a_second_camera_finds_what_the_first_one_hardly_sees():
    found = fit(scene_of(TWO), experiment_of(TWO).target.views, {"velocity": [[1.0, 2.0, 0.0]]})
    assert torch.allclose(found["velocity"], torch.tensor([[1.1, 1.8, -0.6]], dtype=D), atol=1e-8)
    assert set(found.views) == {"front", "side"}


def test_the_place_of_one_of_the_cameras_can_be_sought():
    experiment = experiment_of(TWO, {"camera.side.azimuth": 84.0, "drag": 0.7}, ("camera.side.azimuth", "drag"))
    found = fit(experiment.scene, experiment.target, {"camera.side.azimuth": 90.0, "drag": 0.5})
    assert float(found["camera.side.azimuth"]) == pytest.approx(84.0, abs=1e-6)
    with pytest.raises(
        InputError, match=r"unknown 'camera.azimuth': the scene has nothing of this name.*camera.front.azimuth"
    ):
        fit(experiment.scene, experiment.target, {"camera.azimuth": 90.0})


def test_a_frame_shows_the_simulation_at_its_time_and_the_offset():
    scene = scene_of(Viewpoint(FRONT, time_offset=0.1))
    late = synthesise(scene, {"gravity": 9.0}, rate=25.0)
    whole = synthesise(scene_of(FRONT), {"gravity": 9.0}, times=late.times + 0.1)
    assert late.times[0] == 0.0
    assert float(late.times[-1]) == pytest.approx(0.28)
    assert torch.equal(late.frames, whole.frames)
    early = synthesise(scene_of(Viewpoint(FRONT, time_offset=-0.1)), {"gravity": 9.0}, rate=25.0)
    assert early.times[0] == pytest.approx(0.12)  # frames before the start of the simulation are left out
    assert float(early.times[-1]) == pytest.approx(0.48)


def test_a_wrong_offset_costs():
    right = experiment_of(TWO)
    wrong = replace(right, scene=scene_of({**TWO, "side": Viewpoint(SIDE, time_offset=0.06)}))
    z = right.layout.encode({"velocity": torch.tensor([1.1, 1.8, -0.6], dtype=D)})
    assert right.objective().value(z).value < 1e-20
    assert wrong.objective().value(z).value > 1e-5


def test_views_whose_noise_is_independent_are_twice_the_data():
    scene = scene_of({"left": FRONT, "right": FRONT})
    clean = synthesise_views(scene, {"velocity": [[1.0, 2.0, 0.0]]}, rate=25.0)
    draw = torch.Generator().manual_seed(0)

    def noisy(target):
        noise = 0.01 * torch.randn(target.frames.shape, generator=draw, dtype=D)
        return replace(target, frames=target.frames + noise, masks=None)

    targets = {label: noisy(target) for label, target in clean.views.items()}
    deviations = []
    for camera, target in (({"left": FRONT, "right": FRONT}, Targets(targets)), (FRONT, targets["left"])):
        unknowns = [Unknown("gravity"), Unknown("drag")]
        experiment = Experiment(scene_of(camera), target, unknowns, PixelError(coverage=False))
        found = estimate_uncertainty(experiment.objective(), experiment.start())
        assert isinstance(found, Uncertainty)
        assert found.noise == pytest.approx(0.01, rel=0.2)
        deviations.append(float(found.deviation["gravity"]))
    assert deviations[0] / deviations[1] == pytest.approx(0.5**0.5, rel=0.15)


def test_a_shorter_horizon_shortens_every_view():
    objective = experiment_of(TWO).objective().with_horizon(0.5)
    spans = {label: float(target.times[-1]) for label, target in objective.target.by_view().items()}
    assert spans == pytest.approx({"front": 0.2, "side": 0.12})


def test_waypoints_move_a_camera():
    path = (Waypoint(0.0, azimuth=0.0), Waypoint(0.2, azimuth=40.0, distance=3.0), Waypoint(0.3, azimuth=40.0))
    camera = Orbit(distance=5.0, path=path).camera(D, {}, torch.tensor([-1.0, 0.1, 0.25, 9.0], dtype=D))
    wanted = [(5.0, 0.0), (4.0, 20.0), (4.0, 40.0), (5.0, 40.0)]
    for k, (distance, azimuth) in enumerate(wanted):
        still = Orbit(distance=distance, azimuth=azimuth).camera(D)
        assert torch.allclose(camera.eye[k], still.eye, atol=1e-12)
        assert torch.allclose(camera.rotation[k], still.rotation, atol=1e-12)
    assert [spec.name for spec in Orbit(path=path).specs] == ["elevation", "fov", "target"]
    with pytest.raises(InputError, match="waypoints at 0.2, 0.1 s; expected at least two, each later"):
        Orbit(path=(Waypoint(0.2), Waypoint(0.1)))


def test_tracked_poses_follow_the_frames_they_belong_to():
    times = torch.arange(5, dtype=D) * 0.04
    eyes = torch.stack([0.1 * times, 0.0 * times, 4.0 + times], dim=1)
    moving = MovingCamera(Camera.look_at(eyes, (0.0, 0.0, 0.0), size=(8, 8), dtype=D), times)
    chosen = moving.at(torch.tensor([0.16, 0.04], dtype=D))
    assert torch.equal(chosen.eye, eyes[[4, 1]])
    assert torch.equal(chosen.rotation, moving.camera.rotation[[4, 1]])
    with pytest.raises(InputError, match=r"none at 0.05 s; give a pose for every frame"):
        moving.at(torch.tensor([0.05], dtype=D))
    with pytest.raises(InputError, match="got 3 times for a camera of"):
        MovingCamera(moving.camera, times[:3])


@pytest.mark.parametrize(
    "camera, said",
    [({}, "got no cameras"), ({"the side": SIDE}, "got the label 'the side'; expected letters, digits")],
)
def test_cameras_that_cannot_be_used(camera, said):
    with pytest.raises(InputError, match=said):
        scene_of(camera)


def test_targets_must_fit_the_cameras():
    whole = experiment_of(TWO)
    views = dict(whole.target.views)
    for target, said in (
        (views["front"], r"got the views \(one without a label\), and the scene has 'front', 'side'; give every"),
        (
            Targets({"front": views["front"]}),
            r"got the views 'front', and the scene has 'front', 'side'; give every camera a target",
        ),
        (
            Targets({"front": views["front"], "side": views["front"]}),
            "of view 'side' is 16x16 pixels and the camera 20x12",
        ),
    ):
        with pytest.raises(InputError, match=said):
            Experiment(whole.scene, target, [Unknown("velocity")])
    late = scene_of({**TWO, "side": Viewpoint(SIDE, time_offset=0.3)})
    with pytest.raises(InputError, match=r"frames of view 'side' run from 0.3 s to 0.58 s .* covers 0 s to 0.4 s"):
        Experiment(late, whole.target, [Unknown("velocity")])
    with pytest.raises(InputError, match="targets: got none"):
        Targets({})
    with pytest.raises(InputError, match=r"the scene has 2 cameras \(front, side\); call synthesise_views"):
        synthesise(whole.scene, {"gravity": 9.0})
    with pytest.raises(InputError, match="no view 'sode'; did you mean 'side'"):
        whole.scene.select_view("sode")
    with pytest.raises(InputError, match=r"time_offset \[s\]: got nan; expected a number"):
        Viewpoint(FRONT, float("nan"))
    with pytest.raises(InputError, match=r"time_offset = 9 s: the simulation of 0.4 s has no frame"):
        synthesise(scene_of(Viewpoint(FRONT, 9.0)), {"gravity": 9.0})


@pytest.fixture
def two(tmp_path, toy_registry, monkeypatch):
    (tmp_path / "two.toml").write_text(TOY.replace("[appearance]", VIEWS + "[appearance]"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_file_with_views(two):
    experiment = build_experiment(load_file("two.toml"))
    assert {label: view.size for label, view in experiment.scene.viewpoints.items()} == {
        "front": (16, 16),
        "side": (12, 20),
    }
    side = experiment.scene.viewpoints["side"]
    assert (side.camera.distance, side.camera.azimuth, side.time_offset) == (5.0, 90.0, 0.04)
    times = {label: target.times for label, target in experiment.target.by_view().items()}
    assert torch.allclose(times["front"].diff(), torch.tensor(0.08, dtype=D))
    assert torch.allclose(times["side"].diff(), torch.tensor(0.04, dtype=D))
    quick = build_experiment(load_file("two.toml", quick=True))
    assert quick.scene.viewpoints["front"].size == (8, 8)
    # without views the file is what it always was
    one = build_experiment(load_file("two.toml", changes={"views": []}))
    assert isinstance(one.target, Target)
    assert one.scene.camera == Orbit(distance=5.0, elevation=10.0, size=(16, 16))


def test_a_run_shows_every_view_and_resumes(two, monkeypatch):
    def invoke(*given):
        done = CliRunner().invoke(run, list(given), catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.output

    output = invoke("two.toml", "--out", "whole")
    assert "16x16 pixels (front) and" in output
    assert "20x12 pixels (side)" in output
    assert "loss by view: front " in output
    names = {path.name for path in (two / "whole").iterdir()}
    assert {"video-front.mp4", "strip-front.png", "video-side.mp4", "strip-side.png"} <= names
    assert "video.mp4" not in names
    result = json.loads((two / "whole" / "result.json").read_text())
    assert all(e["error"] < 1e-8 for e in result["estimates"])
    assert result["gradient_check"]["passed"]
    assert set(result["view_losses"]) == {"front", "side"}
    assert result["uncertainty"]["noise"] >= 0.0
    page = (two / "whole" / "report.html").read_text()
    assert "View front" in page
    assert "View side" in page
    assert "time offset 0.04 s" in page

    plain = RunFolder.keep
    monkeypatch.setattr(RunFolder, "keep", lambda *given: plain(*given) or _stop())
    CliRunner().invoke(run, ["two.toml", "--out", "part", "--no-report", "--no-check"])
    monkeypatch.setattr(RunFolder, "keep", plain)
    invoke("--resume", "part", "--no-report")
    again = json.loads((two / "part" / "result.json").read_text())
    assert [e["found"] for e in again["estimates"]] == [e["found"] for e in result["estimates"]]


def _stop():
    raise KeyboardInterrupt


def test_landscapes_see_all_views(two):
    experiment = build_experiment(load_file("two.toml"))
    truth = float(experiment.target.truth["gravity"])
    grid = evaluate_grid(experiment, [Axis("gravity", np.linspace(truth - 1.0, truth + 1.0, 5))])
    assert grid.lowest == (truth,)
    assert grid.least < 1e-20


def test_simulate_and_render_by_view(two):
    done = CliRunner().invoke(simulate, ["two.toml", "--out", "seen"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert {p.name for p in (two / "seen").iterdir()} == {"video-front.mp4", "video-side.mp4", "states.npz"}
    done = CliRunner().invoke(render, ["two.toml", "--view", "side", "--out", "side.png"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    from PIL import Image

    assert Image.open("side.png").size == (20, 12)


def test_videos_with_offsets_are_read_frame_by_frame(two):
    """A video that began 80 ms before the simulation, and one that ends after it."""
    frames = np.zeros((8, 12, 20, 3), dtype=np.uint8)
    frames[:, :, :, 0] = np.arange(8)[:, None, None] * 30
    write_video(two / "side.mp4", frames, 25.0)
    write_video(two / "front.mp4", np.zeros((20, 16, 16, 3), dtype=np.uint8), 25.0)
    changes = {
        "views.0.target": {"video": "front.mp4", "frames": {"every": 1}},
        "views.1.target": {"video": "side.mp4", "frames": {"every": 1}}, "views.1.time_offset": -0.08,
    }  # fmt: skip
    experiment = build_experiment(load_file("two.toml", changes=changes))
    front, side = experiment.target.views["front"], experiment.target.views["side"]
    assert (len(front), len(side)) == (11, 6)
    assert float(side.times[0]) == pytest.approx(0.08)
    assert float(side.frames[0, ..., 0].mean() * 255.0) == pytest.approx(60.0, abs=12.0)


def test_every_view_has_the_background_of_its_own_video(two):
    for name, size, level in (("front", (16, 16), 60), ("side", (12, 20), 160)):
        write_video(two / f"{name}.mp4", np.full((11, *size, 3), level, dtype=np.uint8), 25.0)
    changes = {
        "target.background": "median", "views.0.target": {"video": "front.mp4"},
        "views.1.target": {"video": "side.mp4"},
    }  # fmt: skip
    experiment = build_experiment(load_file("two.toml", changes=changes))
    for label, level in (("front", 60), ("side", 160)):
        behind = experiment.scene.select_view(label).behind
        assert behind.shape == (*experiment.scene.viewpoints[label].size, 3)
        assert float(behind.mean()) * 255.0 == pytest.approx(level, abs=3.0)


@pytest.mark.parametrize(
    "changes, said",
    [
        ({"views.1.label": "front"}, "views: 'front' is the label of two views"),
        ({"views.1.label": "the side"}, "views.1.label"),
        ({"views.1.camera.azimut": 3.0}, "views.1.camera.azimut: unknown key; did you mean 'azimuth'"),
        ({"views.1.target.video": "no.mp4"}, r"views.1 \(side\): video .*no such file"),
        ({"views.1.time_offset": 9.0}, r"views.1 \(side\): time_offset"),
        ({"views.0.target.frames": {"holdout": "none"}}, "'front' keeps no frames aside, but other views do"),
        ({"camera.path": [{"time": 0.0}]}, "camera.path: got waypoints at 0 s; expected at least two"),
    ],
)
def test_files_that_cannot_be_used(two, changes, said):
    with pytest.raises(InputError, match=said):
        build_experiment(load_file("two.toml", changes=changes))


def test_optimisers_without_residuals_see_all_views_too():
    from diffloom_fitting import IoU, Lbfgs

    scene = scene_of(TWO)
    target = synthesise_views(scene, {"velocity": [[1.1, 1.8, -0.6]]}, rate=25.0)
    found = fit(scene, target, {"velocity": [[1.0, 2.0, 0.0]]}, loss=IoU(), optimiser=Lbfgs(), iterations=40)
    assert found.loss < 1e-2 * found.start_loss
    with pytest.raises(Exception, match="not a mean of squares"):
        fit(scene, target, {"velocity": [[1.0, 2.0, 0.0]]}, loss=IoU(), optimiser=GaussNewton())
