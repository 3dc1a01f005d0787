"""The order of every scheme, measured on springs, a solid and a tumbling body, without damping or contact."""

from __future__ import annotations

import functools
import math

import pytest
import torch

from diffloom import simulate
from diffloom.interfaces import NoGradient, Trajectory
from diffloom.plugins import get_model

#: Expected order, and steps in the span at which it shows: finer ones where the scheme is of low order.
ORDERS = {
    "semi_implicit": (1, 160),
    "backward_euler": (1, 160),
    "leapfrog": (2, 80),
    "implicit_midpoint": (2, 80),
    "rk4": (4, 100),
}


def springs():
    places = [[0.3 * i, 1.0 + 0.3 * j, 0.05 * i * j] for j in range(2) for i in range(3)]
    pairs = [[0, 1], [1, 2], [3, 4], [4, 5], [0, 3], [1, 4], [2, 5], [0, 4], [1, 5]]
    model = get_model("springs")(places, pairs, on_ground=False)
    velocity = [[0.5, 0.0, 0.3], *[[0.0, 0.2, 0.0]] * 5]
    return model, model.params(torch.float64, damping=0.0, stiffness=60.0, velocity=velocity), 0.2


def solid():
    model = get_model("fem")("box", size=(0.2, 0.2, 0.2), cells=(1, 1, 1), ground=False)
    soft = {"shear_modulus": 500.0, "lame_modulus": 700.0, "damping": 0.0}
    params = model.params(torch.float64, angular_velocity=(8.0, 3.0, -5.0), **soft)
    return model, params, 0.08


def body():
    model = get_model("rigid")(
        [
            {
                "shape": "box",
                "size": [0.5, 0.3, 0.2],
                "mass": 2.0,
                "position": [0.0, 1.0, 0.0],
                "angular_velocity": [3.0, 5.0, 1.0],
            }
        ],
        pushes=[{"body": 0, "point": [0.2, 0.1, 0.05], "force": [3.0, 4.0, -2.0], "start": 0.0, "end": 9.0}],
        ground=False,
    )
    return model, model.params(torch.float64), 0.5


SCENES = {"springs": springs, "fem": solid, "rigid": body}


def end(name: str, scheme: str, steps: int) -> torch.Tensor:
    model, params, span = SCENES[name]()
    path: Trajectory = simulate(
        model, params, dt=span / steps, steps=steps, save=[steps], integrator=scheme, gradient=NoGradient()
    )
    return torch.cat([path.q.reshape(-1), path.u.reshape(-1)])


@functools.cache
def exact(name: str) -> torch.Tensor:
    return end(name, "rk4", 2000)


@pytest.mark.parametrize("scheme", ORDERS)
@pytest.mark.parametrize("name", SCENES)
def test_the_measured_order_of_convergence_is_the_scheme_s(name, scheme):
    expected, steps = ORDERS[scheme]
    coarse, fine = (float((end(name, scheme, n) - exact(name)).norm()) for n in (steps, 2 * steps))
    order = math.log2(coarse / fine)
    print(f"{name} {scheme}: error {coarse:.2e} -> {fine:.2e}, order {order:.2f}")
    assert fine > 1e-13  # above rounding, so that the order means something
    assert order == pytest.approx(expected, abs=0.15)
