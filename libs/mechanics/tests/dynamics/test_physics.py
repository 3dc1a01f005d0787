"""Closed forms that springs, particles and contact must meet."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from diffloom.interfaces import NoGradient, State
from diffloom_mechanics import BackwardEuler, Mechanics, Push, SemiImplicitEuler, particles, pushes, springs
from diffloom_mechanics.contact import ground

F64 = torch.float64
GRAVITY = torch.tensor([0.0, -9.81, 0.0], dtype=F64)


def real(*values):
    return torch.tensor(values, dtype=F64)


def roll(system, state, dt, steps, scheme=None):
    scheme = scheme or SemiImplicitEuler(target="serial")
    return scheme.rollout(system, state, dt=dt, steps=steps, save=(steps,), gradient=NoGradient()).last


def test_free_flight_is_the_discrete_parabola():
    q, u, dt, steps = real([0.0, 1.0, 2.0]), real([1.0, 2.0, -1.0]), 1e-3, 1000
    end = roll(Mechanics(particles(real(2.0), GRAVITY)), State(q, u), dt, steps)
    expected = q + dt * steps * u + dt * dt * steps * (steps + 1) / 2 * GRAVITY
    assert torch.allclose(end.q, expected, rtol=0.0, atol=1e-12 * 20)


@pytest.mark.parametrize("dt", [0.01, 0.007, 0.0123])
def test_an_impulse_does_not_depend_on_the_step(dt):
    push = pushes([Push(0, 0.0131, 0.0789)], real([2.0, 0.0, 0.0]), 1)
    end = roll(Mechanics(particles(real(0.5), 0 * GRAVITY), (push,)), State(real([0.0] * 3), real([0.0] * 3)), dt, 20)
    assert float(end.u[0, 0]) == pytest.approx(2.0 * (0.0789 - 0.0131) / 0.5, rel=1e-12)


def test_internal_forces_make_no_net_force_or_torque(net):
    system = Mechanics(net.system().nodes, (net.system().terms[0],))
    q, u = net.inputs["q"], net.inputs["u"]
    f = system.force(q, u)
    size = float(f.abs().sum())
    assert float(f.sum(dim=0).abs().max()) <= 1e-10 * size
    assert float(torch.linalg.cross(q, f).sum(dim=0).abs().max()) <= 1e-10 * size


def test_spring_force_is_minus_the_slope_of_its_energy(net):
    stiffness, rest = net.inputs["stiffness"], net.inputs["rest_length"]
    term = net.system(damping=torch.zeros((), dtype=F64)).terms[0]
    system = Mechanics(net.system().nodes, (term,))
    pairs = torch.from_numpy(term.nodes).long()
    q = net.inputs["q"].clone().requires_grad_()
    length = (q[pairs[:, 1]] - q[pairs[:, 0]]).norm(dim=1)
    energy = (0.5 * stiffness * (length - rest) ** 2).sum()
    slope = torch.autograd.grad(energy, q)[0]
    f = system.force(q.detach(), net.inputs["u"])
    assert float((f + slope).norm()) <= 1e-10 * float(slope.norm())


def test_rigid_motion_is_not_damped(net):
    term = net.system(stiffness=torch.zeros((), dtype=F64)).terms[0]
    system = Mechanics(net.system().nodes, (term,))
    q = net.inputs["q"]
    spin = real(0.3, -1.0, 0.7)
    u = real(1.0, 2.0, 3.0) + torch.linalg.cross(spin.expand_as(q), q)
    scale = float(system.force(q, net.inputs["u"]).abs().max())
    assert float(system.force(q, u).abs().max()) <= 1e-10 * scale


def test_backward_euler_solves_the_oscillator_exactly():
    """One step of a linear spring: u+ = (u - dt k/m q) / (1 + dt^2 k/m)."""
    k, m, dt = 900.0, 0.3, 0.1
    pair = np.array([[0, 1]], np.int32)
    system = Mechanics(particles(real(0.0, m), 0 * GRAVITY), (springs(pair, real(k)[0], real(0.0)[0], real(1.0)[0]),))
    state = State(real([0.0] * 3, [1.5, 0.0, 0.0]), real([0.0] * 3, [0.2, 0.0, 0.0]))
    end = roll(system, state, dt, 1, BackwardEuler())
    expected = (0.2 - dt * k / m * 0.5) / (1.0 + dt * dt * k / m)
    assert float(end.u[1, 0]) == pytest.approx(expected, rel=1e-10)
    assert torch.equal(end.q[0], state.q[0])


def contact(**changes):
    given = {"contact_stiffness": 1e4, "contact_dissipation": 2.0, "friction_stiffness": 1e3, "friction": 0.4,
             "ground_height": 0.0, "ground_normal": (0.0, 1.0, 0.0)} | changes  # fmt: skip
    return {k: torch.tensor(v, dtype=F64) for k, v in given.items()}


@pytest.mark.parametrize("scheme, dt", [(SemiImplicitEuler(target="serial"), 1e-4), (BackwardEuler(), 1e-2)])
def test_a_dropped_particle_comes_to_rest_where_the_forces_balance(scheme, dt):
    system = Mechanics(particles(real(0.5), GRAVITY), (ground(contact(contact_dissipation=20.0), 1),))
    end = roll(system, State(real([0.0, 0.05, 0.0]), real([0.0] * 3)), dt, round(2.0 / dt), scheme)
    assert float(end.q[0, 1]) == pytest.approx(-0.5 * 9.81 / 1e4, rel=1e-3)
    assert float(end.u.abs().max()) < 1e-6


def test_a_sliding_particle_stops_where_coulomb_says():
    speed, mu = 2.0, 0.4
    sink = -0.5 * 9.81 / 1e4
    system = Mechanics(particles(real(0.5), GRAVITY), (ground(contact(), 1),))
    state = State(real([0.0, sink, 0.0]), real([speed * math.cos(0.7), 0.0, speed * math.sin(0.7)]))
    end = roll(system, state, 1e-4, 8000)
    way = float(end.q[0, [0, 2]].norm())
    assert way == pytest.approx(speed**2 / (2.0 * mu * 9.81), rel=0.01)
    assert math.atan2(float(end.q[0, 2]), float(end.q[0, 0])) == pytest.approx(0.7, abs=1e-9)


def test_contact_never_pulls():
    system = Mechanics(particles(real(0.5), GRAVITY), (ground(contact(contact_dissipation=0.1), 1),))
    leaving = system.force(real([0.0, -1e-3, 0.0]), real([0.0, 5.0, 0.0]))
    assert float(leaving[0, 1]) == pytest.approx(5.0)
    assert float(system.force(real([0.0, -1e-3, 0.0]), real([0.0, 20.0, 0.0])).abs().max()) == 0.0
    assert float(system.force(real([0.0, 1e-9, 0.0]), real([0.0, -5.0, 0.0])).abs().max()) == 0.0


def test_the_linear_law_never_pulls():
    given = {**contact(), "contact_damping": torch.tensor(1e4, dtype=F64)}
    system = Mechanics(particles(real(0.5), GRAVITY), (ground(given, 1, contact="linear"),))
    leaving = system.force(real([0.0, -1e-3, 0.0]), real([0.0, 5.0, 0.0]))
    assert float(leaving[0, 1]) == pytest.approx(10.0)
    assert float(system.force(real([0.0, 1e-9, 0.0]), real([0.0, -5.0, 0.0])).abs().max()) == 0.0
