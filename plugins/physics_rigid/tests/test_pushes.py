"""Pushes: the impulse is exact for any step length, at a point, in the world or with the body."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from diffloom import simulate
from diffloom.interfaces import InputError
from diffloom_physics_rigid.model import RigidModel
from diffloom_testing import check_gradient


def pushed(**push: object) -> RigidModel:
    table = {"impulse": [1.0, 2.0, -0.5], "start": 0.0131, "end": 0.0877, **push}
    return RigidModel([{"shape": "arrow", "mass": 2.5}], pushes=[table], ground=False)


@pytest.mark.parametrize("dt", [1 / 960, 1 / 60, 0.0173, 0.11])
def test_the_impulse_is_exact_for_any_step(dt: float) -> None:
    model = pushed()
    params = model.params(torch.float64, gravity=[0.0, 0.0, 0.0])
    result = simulate(model, params, dt=dt, steps=round(0.2 / dt) + 1)
    np.testing.assert_allclose(2.5 * result.u[-1, 0, :3].numpy(), [1.0, 2.0, -0.5], rtol=1e-12)


def test_an_impulse_at_a_vertex_gives_the_right_angular_momentum() -> None:
    model = pushed(vertex=3, start=0.0, end=1e-6)
    params = model.params(torch.float64, gravity=[0.0, 0.0, 0.0])
    result = simulate(model, params, dt=1e-6, steps=2)
    arm = model.bodies[0].vertices[3]
    inertia = model.bodies[0].inertia * (2.5 / model.bodies[0].volume)
    spin = np.linalg.solve(inertia, np.cross(arm, [1.0, 2.0, -0.5]))
    np.testing.assert_allclose(result.u[-1, 0, 3:].numpy(), spin, rtol=1e-4, atol=1e-6)


def test_a_force_in_the_body_frame_turns_with_it() -> None:
    model = RigidModel(
        [{"shape": "box", "mass": 1.0, "orientation": [0.5**0.5, 0.0, 0.0, 0.5**0.5]}],
        pushes=[{"force": [2.0, 0.0, 0.0], "end": 0.5, "frame": "body"}],
        ground=False,
    )
    params = model.params(torch.float64, gravity=[0.0, 0.0, 0.0])
    result = simulate(model, params, dt=0.01, steps=50)
    np.testing.assert_allclose(result.u[-1, 0, :3].numpy(), [0.0, 1.0, 0.0], atol=1e-12)


@pytest.mark.parametrize("frame", ["world", "body"])
def test_gradients(frame: str) -> None:
    model = RigidModel(
        [
            {"shape": "arrow", "mass": 2.0, "angular_velocity": [1.0, 2.0, 3.0]},
            {"shape": "ell", "position": [5.0, 0.0, 0.0]},
        ],
        pushes=[
            {"body": 0, "force": [3.0, -1.0, 2.0], "vertex": 2, "start": 0.011, "end": 0.05, "frame": frame},
            {"body": 1, "force": [3.0, -1.0, 2.0], "point": [0.1, 0.2, 0.3], "end": 0.03},
            {
                "body": 0,
                "impulse": [0.1, 0.4, 0.2],
                "point": [0.1, 0.0, 0.3],
                "start": 0.02,
                "end": 0.09,
                "frame": frame,
            },
        ],
        ground=False,
        collisions=False,
    )
    base = model.params(torch.float64)
    names = ("position", "orientation", "velocity", "angular_velocity", "mass", "push_force", "push_point", "gravity")

    def run(**values: Tensor) -> Tensor:
        result = simulate(
            model,
            model.params(torch.float64, **values),
            dt=1 / 120,
            steps=12,
            save=[6, 12],
        )
        return torch.cat([result.q, result.u], dim=-1)

    check_gradient(run, {name: base[name] for name in names}, tolerance=1e-6)


@pytest.mark.parametrize(
    ("push", "message"),
    [
        ({"force": [1, 0, 0], "start": 0.2, "end": 0.1}, "expected 0 <= start < end"),
        ({"end": 0.1}, "either force"),
        ({"force": [1, 0], "end": 0.1}, "expected three numbers"),
        ({"force": [1, 0, 0], "end": 0.1, "body": "bal"}, "no body is called 'bal'; did you mean 'ball'"),
        ({"force": [1, 0, 0], "end": 0.1, "body": 7}, "expected 0 to 0"),
        ({"force": [1, 0, 0], "end": 0.1, "vertex": 999}, "vertex 999 of body 'ball'; expected 0 to"),
        ({"force": [1, 0, 0], "end": 0.1, "when": 2}, "unknown key 'when'"),
        ({"force": [1, 0, 0], "end": 0.1, "frame": "sky"}, "expected 'world' or 'body'"),
        ({"force": [1, 0, 0], "end": 0.1, "vertex": 1, "point": [0, 0, 0]}, "both vertex and point"),
    ],
)
def test_refused_pushes(push: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        RigidModel([{"shape": "sphere", "name": "ball"}], pushes=[push])
