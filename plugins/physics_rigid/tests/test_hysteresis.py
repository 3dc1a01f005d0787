"""The law "hysteresis": one restitution at all speeds, and exact gradients through bounces."""

import math

import pytest
import torch

from diffloom import simulate
from diffloom.interfaces import InputError
from diffloom_physics_rigid.model import RigidModel
from diffloom_testing import check_gradient

BALL = {"shape": "sphere", "radius": 0.03, "mass": 0.026, "position": [0.0, 0.2, 0.0], "contact_stiffness": 3e3}


def ball(**values):
    model = RigidModel([BALL], contact="hysteresis")
    return model, model.params(torch.float64, **values)


@pytest.mark.parametrize("speed", [1.0, 3.0])
def test_restitution_is_the_same_at_any_speed(speed):
    model, params = ball(
        position=[0.0, 0.0301, 0.0], velocity=[0.0, -speed, 0.0], gravity=[0.0, 0.0, 0.0], contact_hysteresis=0.4,
        hysteresis_speed=1e-3,
    )  # fmt: skip
    left = simulate(model, params, dt=1e-5, steps=2500, save=(2500,)).u[0, 0, 1]
    assert float(left) / speed == pytest.approx(math.sqrt(0.6 / 1.4), rel=2e-3)


def test_gradients_through_two_bounces():
    thrown = {"velocity": [0.3, -0.4, 0.1], "angular_velocity": [0.0, 0.0, 3.0]}
    model, moving = ball(**thrown, contact_toe=4e-3, hysteresis_speed=0.3)
    heights = simulate(model, moving, dt=5e-4, steps=850).q[:, 0, 1]
    touching = (heights < 0.03).int().diff()
    assert int((touching == 1).sum()) == 2, "two bounces, or this tests little"
    names = ("contact_stiffness", "contact_hysteresis", "contact_toe", "hysteresis_speed", "mass")

    def end(**given):
        return simulate(model, moving.replace(**given), dt=5e-4, steps=850, save=(850,)).q

    found = check_gradient(end, {name: moving[name] for name in names}, tolerance=1e-6, step=1e-5)
    assert all(abs(each.autograd) > 0.0 for each in found)


def test_a_restitution_may_be_given_instead():
    model, kept = ball(velocity=[0.3, -0.4, 0.1], restitution=0.7)
    _, lost = ball(velocity=[0.3, -0.4, 0.1], contact_hysteresis=(1.0 - 0.49) / (1.0 + 0.49))

    def end(restitution):
        return simulate(model, kept.replace(restitution=restitution), dt=5e-4, steps=500, save=(500,)).q

    assert torch.equal(end(kept["restitution"]), simulate(model, lost, dt=5e-4, steps=500, save=(500,)).q)
    found = check_gradient(end, {"restitution": kept["restitution"]}, tolerance=1e-6, step=1e-5)
    assert all(abs(each.autograd) > 0.0 for each in found), "it bounced, or this tests little"


def test_a_share_beyond_one_is_refused():
    with pytest.raises(InputError, match="contact_hysteresis"):
        ball(contact_hysteresis=1.2)
