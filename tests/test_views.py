"""Several cameras, with the project's own physics and renderers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from diffloom_experiments import build_experiment, load_file
from diffloom_fitting import MovingCamera, Viewpoint, check_gradient, run_fit

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "two-views.toml"


@pytest.fixture(autouse=True)
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def path_errors(changes):
    """Root mean square error of the body's path [m] along x, y and z, the first camera's viewing axis."""
    experiment = build_experiment(load_file(EXAMPLE, changes=changes))
    result = run_fit(experiment, sure=False)
    times = torch.linspace(0.0, 0.5, 11, dtype=torch.float64)
    found, true = (
        experiment.scene.render(values, times, ()).q[:, 0, :3]
        for values in ({e.name: e.found for e in result.estimates}, experiment.target.truth)
    )
    return (found - true).square().mean(0).sqrt()


def test_a_second_camera_sees_the_depth_that_the_first_one_guesses():
    two, one = path_errors({}), path_errors({"views": []})
    print(f"error of the path [m]: one camera {one.tolist()}, two {two.tolist()}")
    assert float(two[2]) < 0.1 * float(one[2])
    assert float(two.max()) < 0.01


@pytest.mark.parametrize("renderer", ["softras", "dibr"])
def test_a_moving_camera_is_differentiated_and_fitted(renderer):
    """The second camera swings around while the body flies; its video begins half a frame late."""
    changes = {
        "renderer.name": renderer, "target": {"rate": 10}, "views.1.camera.path": [
            {"time": 0.0, "azimuth": 60.0, "distance": 5.0}, {"time": 0.4, "azimuth": 110.0, "distance": 7.0},
        ],
    }  # fmt: skip
    experiment = build_experiment(load_file(EXAMPLE, changes=changes))
    checked = check_gradient(experiment.objective(), experiment.start(), tolerance=1e-5)
    assert checked.passed, checked
    result = run_fit(experiment, sure=False)
    assert max(e.error for e in result.estimates) < 1e-6, result


def test_tracked_poses_equal_those_of_the_waypoints():
    path = [{"time": 0.0, "azimuth": 60.0}, {"time": 0.4, "azimuth": 110.0}]
    scene = build_experiment(load_file(EXAMPLE, changes={"views.1.camera.path": path})).scene.select_view("side")
    times = torch.arange(5, dtype=torch.float64) / 10.0
    moving = scene.viewpoint.camera.camera(torch.float64, {}, times)
    poses = replace(scene, camera=Viewpoint(MovingCamera(moving, times), time_offset=0.05))
    chosen = times[[1, 3, 4]]
    first, second = (each.render({}, chosen + 0.05).image.rgba for each in (scene, poses))
    torch.testing.assert_close(first, second, rtol=0.0, atol=1e-9)
    assert float((first[0] - first[2]).abs().max()) > 0.1
