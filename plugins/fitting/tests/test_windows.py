"""Windows of time with their own parameters."""

import fitting_toys
import numpy as np
import pytest
import torch

import diffloom_fitting as fitting
from diffloom.interfaces import InputError
from diffloom_experiments.experiments import expand_windows
from diffloom_experiments.schema import ExperimentFile
from diffloom_fitting.experiment import Experiment
from diffloom_fitting.gradient_check import check_gradient
from diffloom_video.guesses import Sighting, guess_bounces

SIZE = (24, 28)
TIMES = torch.tensor([0.05, 0.11, 0.19, 0.25, 0.31, 0.38], dtype=torch.float64)
BEGIN = 0.22
TRUTH = {"velocity@1": [0.8, 1.5, 0.1], "velocity@2": [-0.6, 0.9, -0.2], "gravity": 8.0}

pytestmark = pytest.mark.usefixtures("toy_registry")


def scene(windows=(BEGIN,), **more):
    model = fitting_toys.ToyModel()
    view = fitting.Orbit(distance=4.0, elevation=10.0, size=SIZE)
    params = model.params(torch.float64)
    return fitting.Scene(
        model, fitting_toys.ToyRenderer(), view, params, dt=0.01, steps=60, integrator="toy_steps", windows=windows,
        **more,
    )  # fmt: skip


def values(given):
    return {name: torch.tensor(value, dtype=torch.float64) for name, value in given.items()}


def test_the_motion_goes_on_with_what_a_window_has_of_its_own():
    states = scene().render(values(TRUTH), torch.tensor([BEGIN, 0.35], dtype=torch.float64), ()).q
    alone = scene(windows=())
    before = alone.render(values({"velocity": TRUTH["velocity@1"], "gravity": 8.0}), torch.tensor([BEGIN]).double(), ())
    assert torch.allclose(states[0], before.q[0], atol=1e-15)
    after = alone.render(values({"velocity": TRUTH["velocity@2"], "gravity": 8.0}), torch.tensor([0.13]).double(), ())
    assert torch.allclose(states[1], before.q[0] + after.q[0], atol=1e-12), "the toy's start is the origin"


def test_a_parameter_is_another_from_a_moment_on():
    with_drag = scene().render(values({"drag@1": 0.0, "drag@2": 3.0, "velocity": [1.0, 2.0, 0.0]}), TIMES, ()).q
    without = scene(windows=()).render(values({"drag": 0.0, "velocity": [1.0, 2.0, 0.0]}), TIMES, ()).q
    assert torch.equal(with_drag[:3], without[:3])
    assert float((with_drag[-1] - without[-1]).norm()) > 0.03


def experiment(**more):
    target = fitting.synthesise(scene(), TRUTH, TIMES)
    sought = {"gravity": 9.0, "velocity.z": 0.05, "velocity.x@1": 0.7, "velocity.x@2": -0.5, "velocity.y@1": 1.4,
              "velocity.y@2": 1.0}  # fmt: skip
    return Experiment(scene(), target, [fitting.Unknown(name, start) for name, start in sought.items()], **more)


def test_gradients_of_what_is_shared_and_of_what_is_not():
    made = experiment()
    found = check_gradient(made.objective(), made.start(), tolerance=1e-6)
    assert found.passed, found
    assert all(abs(row.adjoint) > 1e-7 for row in found.rows), "a gradient of nothing is no test"


def test_a_fit_finds_both_windows():
    target = fitting.synthesise(scene(), TRUTH, TIMES)
    found = fitting.fit(
        scene(), target, {"gravity": 9.0, "velocity@1": [0.7, 1.4, 0.0], "velocity@2": [-0.5, 1.0, 0.0]}
    )
    assert found["velocity@2"].tolist() == pytest.approx(TRUTH["velocity@2"], abs=1e-5)
    assert float(found["gravity"]) == pytest.approx(8.0, abs=1e-5)


def test_what_windows_are_not_is_said():
    with pytest.raises(InputError, match="growing times"):
        scene(windows=(0.3, 0.2))
    target = fitting.synthesise(scene(), TRUTH, TIMES)
    with pytest.raises(InputError, match="expected 1 to 2"):
        fitting.fit(scene(), target, {"velocity@3": [0.0, 0.0, 0.0]})
    with pytest.raises(InputError, match="no camera"):
        fitting.fit(scene(), target, {"camera.distance@2": 4.0})


def test_a_file_names_each_window():
    table = {"time": {"dt": 0.01}, "unknowns": {"speed": {"start": [1.0, 2.0], "windows": True}, "drag": {}},
             "stages": [{"optimiser": "gauss_newton", "only": ["drag", "speed"]}]}  # fmt: skip
    found = expand_windows(ExperimentFile.model_validate(table), 2)
    assert {name: one.start for name, one in found.unknowns.items()} == {"speed@1": 1.0, "speed@2": 2.0, "drag": None}
    assert found.stages[0].only == ["drag", "speed@1", "speed@2"]
    with pytest.raises(InputError, match="2 values; expected one, or one for each of 3"):
        expand_windows(ExperimentFile.model_validate(table), 3)


def test_bounces_are_guessed_from_a_track():
    """A ball of 5 cm falls before a camera that looks down by 10 degrees, and keeps 0.8, then 0.7 of its speed."""
    radius, distance, focal, g = 0.05, 2.0, 400.0, 9.81
    t, speeds, heights, y, v = np.arange(0.0, 1.5, 1 / 60), [0.8, 0.7, *[0.7] * 9], [], 0.6, -0.5
    for _ in t:
        heights.append(y)
        for _ in range(100):
            y, v = y + v / 6000, v - g / 6000
            if y < radius and v < 0.0:
                v = -v * speeds.pop(0)
    up, tilt = np.array(heights) - 0.4, np.radians(10.0)
    depth = distance - up * np.sin(tilt)
    across = 120.0 + focal * 0.3 * (t - 0.75) / depth
    tracks = np.stack([across, 200.0 - focal * up * np.cos(tilt) / depth, focal * radius / depth])
    found = guess_bounces(Sighting(t, tracks, focal, 400, 240, tilt), radius=radius, count=2)
    assert found["restitution"] == pytest.approx([0.8, 0.7], abs=0.02)
    assert found["gravity.y"] == pytest.approx(-g, rel=0.02)
    assert found["angular_velocity.z"] == pytest.approx([-6.0, -6.0], abs=0.5), "it keeps its 0.3 m/s: it rolls"
    assert found["camera.distance"] == pytest.approx(distance, rel=0.01)
    assert found["camera.target.y"] == pytest.approx(0.4, abs=0.01)
    assert found["position.y"] == pytest.approx(0.6, abs=0.02)
    assert len(found["windows"]) == 1, "the first bounce needs none"
    with pytest.raises(InputError, match="the track shows"):
        guess_bounces(Sighting(t, tracks, focal, 400, 240, tilt), radius=radius, count=9)
