"""The conformance suite, one test for each check; and what sets this scheme apart: its order, and that energy stays."""

import json
import math
from itertools import pairwise

import numpy as np
import pytest
import torch
from click.testing import CliRunner
from loom_yoshida.integrator import SCHEME, Yoshida

from diffloom.interfaces import NoGradient, State, StoreAll
from diffloom.plugins import get_integrator
from diffloom_mechanics import Mechanics, particles, springs
from diffloom_testing import check_gradient, parametrize_with_checks

PAIRS = np.array([[0, 1], [1, 2], [2, 3]], dtype=np.int32)
GRAVITY = torch.tensor([0.0, -9.81, 0.0], dtype=torch.float64)
MASS = torch.tensor([0.0, 0.2, 0.3, 0.25], dtype=torch.float64)
STIFFNESS = torch.tensor([40.0, 60.0, 50.0], dtype=torch.float64)
Q = torch.tensor([[0.0, 0.0, 0.0], [0.4, -0.1, 0.1], [0.8, -0.3, 0.0], [1.0, -0.6, 0.1]], dtype=torch.float64)
U = torch.tensor([[0.0, 0.0, 0.0], [0.3, -0.2, 0.4], [-0.5, 0.1, 0.2], [0.1, 0.2, -0.3]], dtype=torch.float64)


@parametrize_with_checks([Yoshida])
def test_conformance(subject, check):
    check()


def chain(mass=MASS, stiffness=STIFFNESS):
    """Three masses on undamped springs, hung up: energy is conserved."""
    net = springs(PAIRS, stiffness, torch.zeros(3, dtype=torch.float64), torch.full((3,), 0.4, dtype=torch.float64))
    return Mechanics(particles(mass, GRAVITY), (net,))


def run(system, dt, steps, save, q=Q, u=U, gradient=None):
    return Yoshida().rollout(system, State(q, u), dt=dt, steps=steps, save=save, gradient=gradient or NoGradient())


def test_kicks_and_drifts_make_up_one_step():
    assert sum(move.kick for move in SCHEME) == pytest.approx(1.0, abs=1e-15)
    assert sum(move.drift for move in SCHEME) == pytest.approx(1.0, abs=1e-15)


def test_the_error_falls_with_the_fourth_power_of_the_step():
    system, span = chain(), 0.4
    exact = run(system, span / 1280, 1280, (1280,)).q[0]
    errors = [float((run(system, span / n, n, (n,)).q[0] - exact).norm()) for n in (20, 40, 80)]
    orders = [math.log2(a / b) for a, b in pairwise(errors)]
    print(f"errors {errors}, orders {orders}")
    assert min(orders) > 3.8
    assert max(orders) < 4.3


def energy(q, u):
    first, second = torch.from_numpy(PAIRS).long().unbind(1)
    stretch = (q[:, second] - q[:, first]).norm(dim=-1) - 0.4
    height = -(q @ GRAVITY)
    kinetic = 0.5 * u.square().sum(dim=-1)
    return (MASS * (kinetic + height)).sum(dim=1) + (0.5 * STIFFNESS * stretch.square()).sum(dim=1)


def test_energy_stays_for_very_many_steps():
    motion = run(chain(), 0.01, 20000, tuple(range(0, 20001, 100)))
    found = energy(motion.q, motion.u)
    assert float((found - found[0]).abs().max()) < 1e-3


def test_it_runs_backwards_to_where_it_came_from():
    there = run(chain(), 0.01, 100, (100,))
    back = run(chain(), 0.01, 100, (100,), there.q[0], -there.u[0])
    assert torch.allclose(back.q[0], Q, atol=1e-10)


def test_the_gradient_agrees_with_finite_differences():
    def end(q, u, mass, stiffness):
        full = torch.cat([torch.zeros(1, dtype=torch.float64), mass])
        motion = run(chain(full, stiffness), 0.02, 20, (10, 20), q, u, StoreAll())
        return torch.cat([motion.q, motion.u])

    check_gradient(end, {"q": Q, "u": U, "mass": MASS[1:], "stiffness": STIFFNESS}, tolerance=1e-6)


def test_diffloom_plugins_lists_it():
    from diffloom.cli.group import diffloom

    listing = json.loads(CliRunner().invoke(diffloom, ["plugins", "--json"]).output)["plugins"]
    offers = [(offer["kind"], offer["name"]) for plugin in listing for offer in plugin["offers"]]
    assert ("integrator", "yoshida") in offers
    assert get_integrator("yoshida") is Yoshida
