"""Every kind of unknown of a real clip: its gradient through physics, camera and renderer, against differences."""

from functools import cache

import pytest
import torch

import diffloom_fitting as fitting
from diffloom.plugins import get_model, get_renderer
from diffloom_fitting.experiment import Experiment
from diffloom_fitting.gradient_check import check_gradient
from diffloom_mechanics import WithTerms, get_term

SIZE = (20, 24)
TIMES = torch.tensor([0.031, 0.113, 0.197], dtype=torch.float64)
#: Point of the gradient check, beside the values of the target: the camera's pose, the lens, the shutter, the
#: response to light, gravity's direction, the air, the object.
ORBIT = {
    "camera.distance": 3.9,
    "camera.elevation": 10.0,
    "camera.azimuth": 3.0,
    "camera.target": [0.02, 0.5, -0.04],
    "camera.fov": 43.0,
}
FREE = {"camera.eye": [0.1, 1.2, 3.9], "camera.yaw": 1.5, "camera.pitch": -9.0, "camera.focal": 26.0}
SENSOR = {
    "camera.roll": 2.0,
    "camera.centre": [0.3, -0.2],
    "camera.distortion": [0.03, -0.02, 0.01, -0.01, 0.005],
    "camera.exposure": 0.0171,
    "camera.readout": 0.0213,
    "camera.gain": 0.9,
    "camera.gamma": 1.2,
    "camera.time_offset": 0.0041,
}
OBJECT = {
    "appearance.size": 1.1,
    "appearance.colour": [0.7, 0.5, 0.3],
    "gravity": [0.5, -9.0, 0.4],
    "gravity.x": 0.5,
    "air.linear_drag": 0.3,
    "air.quadratic_drag": 0.4,
    "air.lift": 0.05,
    "air.angular_damping": 0.02,
    "air.wind": [0.4, 0.1, -0.3],
    "air.buoyancy": [0.1, 0.5, 0.2],
    "position.x": 0.05,
    "velocity": [0.8, 1.6, 0.2],
    "angular_velocity.z": 2.5,
}


@cache
def box():
    model = get_model("rigid")([{"shape": "box", "size": [0.5, 0.4, 0.3], "mass": 1.0}], ground=False)
    air = {"linear_drag": 0.2, "quadratic_drag": 0.3, "lift": 0.04, "angular_damping": 0.015, "wind": (0.5, 0.0, -0.2)}
    return WithTerms(model, {"air": get_term("air")(**air)})


def scene_of(name):
    camera = (
        fitting.FreeCamera(eye=(0.0, 1.1, 4.0), yaw=0.0, pitch=-8.0, focal=25.0, size=SIZE)
        if name in FREE
        else fitting.Orbit(distance=4.0, elevation=8.0, target=(0.0, 0.55, 0.0), fov=45.0, size=SIZE)
    )
    sensor = fitting.Sensor(subframes=2 if name == "camera.exposure" else 1)
    model = box()
    params = model.params(
        torch.float64, position=[0.0, 0.5, 0.0], velocity=[0.7, 1.7, 0.1], angular_velocity=[1.0, 0.5, 2.0],
    )  # fmt: skip
    renderer = get_renderer("softras")(sigma=1e-3)
    return fitting.Scene(
        model, renderer, fitting.Viewpoint(camera, sensor=sensor), params, dt=1 / 120, steps=30,
        appearance=fitting.Appearance(colour=(0.6, 0.6, 0.5)),
    )  # fmt: skip


@pytest.mark.parametrize("name", [*ORBIT, *FREE, *SENSOR, *OBJECT])
def test_the_gradient_of_an_unknown_is_that_of_differences(name):
    scene = scene_of(name)
    target = fitting.synthesise(scene, {}, TIMES)
    value = {**ORBIT, **FREE, **SENSOR, **OBJECT}[name]
    experiment = Experiment(scene, target, [fitting.Unknown(name, value)], loss="mse")
    found = check_gradient(experiment.objective(), experiment.start(), tolerance=1e-6)
    assert found.passed, found
    assert max(abs(row.adjoint) for row in found.rows) > 1e-9, "a gradient of nothing is no test"
