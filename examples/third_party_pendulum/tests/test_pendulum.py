"""The conformance suite, one test for each check; and the physics."""

import math

import pytest
import torch
from loom_pendulum.model import PendulumModel

from diffloom import simulate
from diffloom.interfaces import Control
from diffloom_testing import check_gradient, parametrize_with_checks


@parametrize_with_checks([PendulumModel])
def test_conformance(subject, check):
    check()


def test_the_period_of_a_large_swing_is_that_of_the_elliptic_integral():
    model = PendulumModel()
    params = model.params(torch.float64, angle=2.0, rate=0.0, damping=0.0, length=0.7)
    # T = 2 pi sqrt(L / g) / agm(1, cos(amplitude / 2)), by Gauss.
    a, b = 1.0, math.cos(1.0)
    for _ in range(6):
        a, b = 0.5 * (a + b), math.sqrt(a * b)
    period = 2.0 * math.pi * math.sqrt(0.7 / 9.81) / a
    motion = simulate(model, params, dt=period / 400, steps=400, save=(200, 400), integrator="rk4")
    assert torch.allclose(motion.q.flatten(), torch.tensor([-2.0, 2.0], dtype=torch.float64), atol=1e-7)


def energy(motion, length):
    height = -length * motion.q[:, :, 0].cos()
    return 0.5 * length**2 * motion.u[:, :, 0] ** 2 + 9.81 * height


def test_leapfrog_keeps_the_energy_of_many_swings():
    model = PendulumModel(count=2)
    length = torch.tensor([0.5, 1.5], dtype=torch.float64)
    params = model.params(torch.float64, length=length, damping=0.0)
    found = energy(simulate(model, params, dt=0.01, steps=5000, save_every=10, integrator="leapfrog"), length)
    assert float((found - found[0]).abs().max()) < 2e-3


def test_a_constant_torque_holds_the_pendulum_where_it_balances_the_weight():
    model = PendulumModel()
    torque = 0.5 * 9.81 * math.sin(0.4)
    params = model.params(torch.float64, torque=torque, angle=0.4, rate=0.0)
    assert float(simulate(model, params, dt=0.02, steps=200, save=(200,)).q) == pytest.approx(0.4, abs=1e-9)


def test_the_adjoint_of_torque_and_acceleration_by_every_input():
    model = PendulumModel(count=3)
    torch.manual_seed(0)
    motor = torch.randn((6, 3), dtype=torch.float64)
    inputs = {name: 0.5 + torch.rand(3, dtype=torch.float64) for name in ("length", "mass", "gravity", "damping")}

    def end(torque, angle, **given):
        params = model.params(torch.float64, angle=angle, **given)
        motion = simulate(model, params, dt=0.05, steps=6, save=(3, 6), control=Control({"torque": torque}))
        return torch.cat([motion.q, motion.u])

    angle = torch.tensor([0.3, -2.0, 3.5], dtype=torch.float64)
    check_gradient(end, {"torque": motor, "angle": angle, **inputs}, tolerance=1e-7)


def test_the_bob_hangs_at_the_end_of_the_rod():
    model = PendulumModel(bob=0.1)
    params = model.params(torch.float64, length=0.8, angle=math.pi / 2)
    surface = model.surface(simulate(model, params, dt=0.01, steps=0), params)
    low, high = surface.vertices[0].amin(dim=0), surface.vertices[0].amax(dim=0)
    assert high[0] == pytest.approx(0.9, abs=1e-6)
    assert low[0] == pytest.approx(0.0, abs=1e-6)
    assert float(high[1]) == pytest.approx(0.1, abs=1e-6)
