"""The conformance suite, one test for each check; and the physics."""

import math

import torch
from loom_magnets.dipoles import MAGNETIC, Dipoles, dipole_forces
from loom_magnets.model import MagnetsModel

from diffloom import simulate
from diffloom_testing import parametrize_with_checks


@parametrize_with_checks([MagnetsModel])
def test_conformance(subject, check):
    check()


@parametrize_with_checks([Dipoles], families=("declarations", "fits", "force", "gradients", "claims", "determinism"))
def test_conformance_of_the_term(subject, check):
    check()


def test_the_force_is_the_gradient_of_the_energy_of_two_dipoles():
    torch.manual_seed(0)
    q = torch.randn((2, 3), dtype=torch.float64).requires_grad_()
    moment = torch.randn((2, 3), dtype=torch.float64)
    r = q[0] - q[1]
    distance = r.norm()
    n = r / distance
    energy = MAGNETIC / distance**3 * (moment[0] @ moment[1] - 3.0 * (moment[0] @ n) * (moment[1] @ n))
    (by_energy,) = torch.autograd.grad(energy, q)
    force = dipole_forces(None, q.detach(), torch.zeros_like(moment), moment)
    assert torch.allclose(force, -by_energy, rtol=1e-12)


def test_two_magnets_come_to_rest_where_pull_and_push_balance():
    model = MagnetsModel(count=2)
    params = model.params(torch.float64, drag=0.01)
    end = simulate(model, params, dt=0.01, steps=2000, save=(2000,)).q[0]
    # Each at r / 2 from the middle: trap r / 2 = 3 mu_0 m^2 / (4 pi r^4).
    balance = (6.0 * MAGNETIC * 0.06**2 / 0.05) ** 0.2
    assert math.isclose(float((end[0] - end[1]).norm()), balance, rel_tol=1e-3)
