"""The conformance suite, one test for each check; and the physics."""

import math

import torch
from loom_buoyancy.model import BuoysModel
from loom_buoyancy.term import Buoyancy

from diffloom import simulate
from diffloom.interfaces import Control
from diffloom_testing import check_gradient, parametrize_with_checks


@parametrize_with_checks([BuoysModel])
def test_conformance(subject, check):
    check()


@parametrize_with_checks([Buoyancy], families=("declarations", "fits", "force", "gradients", "claims", "determinism"))
def test_conformance_of_the_term(subject, check):
    check()


def one_buoy(**values):
    """Two buoys on a slack rope in still water: each floats for itself."""
    model = BuoysModel(count=2)
    still = {"wave_height": 0.0, "rope_stiffness": 0.0, "rope_damping": 0.0}
    return model, model.params(torch.float64, **still, **values)


def test_a_ball_wholly_under_water_is_lifted_by_the_weight_of_the_water_it_displaces():
    model, params = one_buoy(height=-1.0, water_drag=0.0)
    state = model.initial_state(params)
    force = model.dynamics(params, Control()).force(state.q, state.u)
    volume = 4.0 / 3.0 * math.pi * 0.07**3
    assert torch.allclose(force[:, 1], torch.tensor(1000.0 * 9.81 * volume, dtype=torch.float64))


def test_a_buoy_comes_to_rest_where_it_displaces_its_own_mass():
    model, params = one_buoy(density=500.0, height=0.03, water_drag=20.0)
    end = simulate(model, params, dt=0.005, steps=2000, save=(2000,)).q[0]
    assert torch.allclose(end[:, 1], torch.zeros(2, dtype=torch.float64), atol=1e-6)


def test_the_adjoint_of_the_term_under_above_and_across_the_water():
    model, params = one_buoy()
    system = model.dynamics(params, Control())
    for height in (-0.2, -0.01, 0.03, 0.2):
        q = torch.tensor([[0.0, height, 0.0], [0.3, height + 0.01, 0.0]], dtype=torch.float64)
        u = torch.tensor([[0.1, -0.4, 0.2], [0.0, 0.3, -0.1]], dtype=torch.float64)
        check_gradient(lambda q, u: system.force(q, u), {"q": q, "u": u}, tolerance=1e-7)
