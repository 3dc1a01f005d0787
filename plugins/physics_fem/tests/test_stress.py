"""The stress that is shown is the one that acts: the forces of a stretched solid are its virial."""

import pytest
import torch

from diffloom.interfaces import Control, Trajectory
from diffloom_physics_fem.elasticity import von_mises
from diffloom_physics_fem.model import FemModel

ONE = torch.ones((), dtype=torch.float64)


def deformed(model, gradient):
    """A trajectory of one frame in which every point x is at F x."""
    q = torch.from_numpy(model.mesh.vertices) @ gradient.T
    return Trajectory(q[None], torch.zeros_like(q)[None], torch.zeros(1, dtype=torch.float64))


@pytest.fixture
def model():
    return FemModel("box", size=(0.3, 0.2, 0.1), cells=(2, 2, 1), ground=False)


@pytest.mark.parametrize("seed", range(3))
def test_the_virial_of_the_forces_is_the_stress_times_the_volume(model, seed):
    """Sum of f x^T over the nodes = -V sigma in a body that is deformed evenly."""
    draw = torch.Generator().manual_seed(seed)
    gradient = torch.eye(3, dtype=torch.float64) + 0.3 * torch.randn(3, 3, generator=draw, dtype=torch.float64)
    params = model.params(
        torch.float64, shear_modulus=2e3, lame_modulus=7e3, activation=0.1, gravity=[0.0, 0.0, 0.0], damping=0.0
    )
    path = deformed(model, gradient)
    force = model.dynamics(params, Control()).force(path.q[0], path.u[0], dt=1e-3)
    virial = torch.einsum("ni,nj->ij", force, path.q[0])
    sigma = model.cauchy_stress(path, params)[0]
    volume = 0.3 * 0.2 * 0.1 * torch.linalg.det(gradient)
    torch.testing.assert_close(-virial / volume, sigma[0], rtol=1e-9, atol=1e-6)
    torch.testing.assert_close(sigma, sigma[:1].expand_as(sigma), rtol=1e-9, atol=1e-6)


def test_a_stretched_bar_has_the_closed_form_and_turning_changes_nothing(model):
    stretch, turn = torch.diag(torch.tensor([1.4, 0.9, 0.9], dtype=torch.float64)), torch.tensor(0.7)
    c, s = float(turn.cos()), float(turn.sin())
    rotation = torch.tensor([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]], dtype=torch.float64)
    params = model.params(torch.float64, shear_modulus=2e3, lame_modulus=7e3)
    invariant, ratio = 1.4**2 + 2 * 0.9**2, 1.4 * 0.9**2
    expected = 2e3 * (1 - 1 / (invariant + 1)) / ratio * (1.4**2 - 0.9**2)
    for gradient in (stretch, rotation @ stretch):
        shown = model.stress(deformed(model, gradient), params)
        assert shown.unit == "Pa"
        assert shown.values.shape == (1, len(model.shown.vertices))
        torch.testing.assert_close(shown.values, torch.full_like(shown.values, expected), rtol=1e-6, atol=1e-6)


def test_rest_and_pressure_alone_show_nothing(model):
    params = model.params(torch.float64)
    for scale in (1.0, 1.2):
        path = deformed(model, scale * torch.eye(3, dtype=torch.float64))
        assert float(model.stress(path, params).values.max()) < 1e-6 * float(params["shear_modulus"])
    # Pressure is there all the same.
    assert float(model.cauchy_stress(path, params)[0, 0, 0, 0]) > 0.0


def test_a_control_is_taken_row_by_row(model):
    params = model.params(torch.float64)
    still = deformed(model, torch.eye(3, dtype=torch.float64))
    path = Trajectory(still.q.expand(2, -1, -1), still.u.expand(2, -1, -1), torch.tensor([0.0, 0.1]))
    rows = torch.tensor([[0.0], [0.2]], dtype=torch.float64).expand(2, len(model.mesh.tets))
    found = model.cauchy_stress(path, params, Control({"activation": rows}))[:, :, 0, 0]
    torch.testing.assert_close(found[1], -0.2 * params["lame_modulus"].expand_as(found[1]))
    assert float(found[0].abs().max()) < 1e-6


def test_stress_of_inverted_and_flat_tets_is_finite(model):
    flat = torch.diag(torch.tensor([1.0, 1.0, 0.0], dtype=torch.float64))
    for gradient in (flat, torch.diag(torch.tensor([1.0, 1.0, -1.0], dtype=torch.float64))):
        assert bool(model.stress(deformed(model, gradient), model.params(torch.float64)).values.isfinite().all())


def test_von_mises_of_tension_and_shear():
    tension = torch.diag(torch.tensor([5.0, 0.0, 0.0], dtype=torch.float64))
    shear = torch.tensor([[0.0, 2.0, 0.0], [2.0, 0.0, 0.0], [0.0, 0.0, 0.0]], dtype=torch.float64)
    torch.testing.assert_close(von_mises(tension), 5.0 * ONE)
    torch.testing.assert_close(von_mises(shear), 3.0**0.5 * 2.0 * ONE)
