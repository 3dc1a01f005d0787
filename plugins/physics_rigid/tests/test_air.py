"""Air around rigid bodies: drag, Magnus lift, and what brakes rotation."""

import math

import pytest
import torch

from diffloom import simulate
from diffloom_mechanics import WithTerms, get_term
from diffloom_physics_rigid.model import RigidModel

BALL = {"shape": "sphere", "radius": 0.1, "mass": 0.05, "position": [0.0, 0.0, 0.0]}
NAMES = (
    "air.linear_drag",
    "air.quadratic_drag",
    "air.lift",
    "air.angular_damping",
    "air.wind",
    "air.buoyancy",
    "velocity",
    "angular_velocity",
)


def model(**settings):
    return WithTerms(RigidModel([BALL], ground=False), {"air": get_term("air")(**settings)})


def values():
    return {
        "air.linear_drag": 0.02, "air.quadratic_drag": 0.015, "air.lift": 0.004, "air.angular_damping": 1e-3,
        "air.wind": [0.7, -0.2, 0.4], "air.buoyancy": [0.02, 0.1, -0.03],
        "velocity": [3.0, 1.0, -2.0], "angular_velocity": [4.0, -6.0, 9.0],
    }  # fmt: skip


def end(scene, given):
    path = simulate(scene, scene.params(torch.float64, **given), dt=0.01, steps=40, save=(40,))
    weights = torch.linspace(0.3, 1.7, 7, dtype=torch.float64)
    return (path.q[0, 0] * weights).sum() + (path.u[0, 0] * weights[:6]).sum()


def test_gradients_are_exact():
    scene = model()
    given = {name: torch.tensor(value, dtype=torch.float64, requires_grad=True) for name, value in values().items()}
    end(scene, given).backward()
    still = {name: value.detach() for name, value in given.items()}
    for name in NAMES:
        found = given[name].grad
        assert float(found.abs().max()) > 1e-6, f"{name} does not act"
        for k in range(found.numel()):
            step = torch.zeros(found.numel(), dtype=torch.float64)
            step[k] = 1e-6 * float(still[name].abs().max())
            ahead, back = (
                float(end(scene, still | {name: still[name] + sign * step.reshape(found.shape)})) for sign in (1, -1)
            )
            difference = (ahead - back) / (2.0 * float(step[k]))
            scale = max(1.0, float(found.abs().max()))
            assert abs(float(found.reshape(-1)[k]) - difference) < 1e-6 * scale, (name, k)


def test_a_falling_ball_comes_to_its_terminal_speed_and_rotation_decays():
    scene = model(quadratic_drag=0.05)
    given = {"air.angular_damping": 2e-4, "angular_velocity": [0.0, 5.0, 0.0], "air.linear_drag": 0.0, "air.lift": 0.0}
    path = simulate(scene, scene.params(torch.float64, **given), dt=0.01, steps=400, save=(400,))
    assert float(path.u[0, 0, 1]) == pytest.approx(-math.sqrt(0.05 * 9.81 / 0.05), rel=1e-6)
    decay = 2e-4 / (0.4 * 0.05 * 0.1**2)  # per second, by the inertia of a solid ball (a mesh's is a little less)
    assert float(path.u[0, 0, 4]) == pytest.approx(5.0 * math.exp(-decay * 4.0), rel=0.1)


def test_lift_turns_the_path_of_a_rotating_ball():
    scene = model(quadratic_drag=0.0, lift=1e-3)
    given = {"velocity": [4.0, 0.0, 0.0], "angular_velocity": [0.0, 0.0, 10.0], "gravity": [0.0, 0.0, 0.0]}
    path = simulate(scene, scene.params(torch.float64, **given), dt=0.01, steps=40, save=(40,))
    speed, turned = float(path.u[0, 0, :3].norm()), math.atan2(float(path.u[0, 0, 1]), float(path.u[0, 0, 0]))
    assert turned == pytest.approx(1e-3 * 10.0 / 0.05 * 0.4, rel=0.02)  # omega x v turns by s omega / m
    assert speed == pytest.approx(4.0, rel=0.01)


def test_air_bears_a_ball_and_is_carried_along():
    air, mass = get_term("air").around_ball(0.1, 0.05, coefficient=0.0)
    scene = WithTerms(RigidModel([BALL | {"mass": mass}], ground=False), {"air": air})
    path = simulate(scene, scene.params(torch.float64), dt=0.01, steps=10, save=(10,))
    displaced = 1.2 * 4.0 / 3.0 * math.pi * 0.1**3
    falls = 9.81 * (0.05 - displaced) / (0.05 + 0.5 * displaced)
    assert float(path.u[0, 0, 1]) == pytest.approx(-falls * 0.1, rel=1e-9)
