"""Contracts of the forces, for any material."""

import numpy as np
import pytest
import torch
from reference import random_case, reference_force
from torch import Tensor

from diffloom.interfaces import Control, Trajectory
from diffloom_physics_fem.model import FemModel


def force(model: FemModel, q: Tensor, u: Tensor, **material: object) -> Tensor:
    params = model.params(torch.float64, **material)
    return model.dynamics(params, Control()).force(q, u)


def split(case: dict[str, Tensor]) -> tuple[Tensor, Tensor, dict[str, Tensor]]:
    return case["q"], case["u"], {k: v for k, v in case.items() if k not in ("q", "u")}


def random_rotation(seed: int) -> Tensor:
    turned, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))
    return torch.tensor(turned * np.sign(np.linalg.det(turned)))


@pytest.mark.parametrize("disorder", [0.1, 1.0], ids=["bent", "with inverted elements"])
def test_the_edge_form_equals_the_published_stress(block: FemModel, disorder: float) -> None:
    case = random_case(block, disorder=disorder)
    if disorder == 1.0:
        moved = case["q"].numpy()[block.mesh.tets]
        volumes = np.linalg.det(moved[:, 1:] - moved[:, :1])
        assert (volumes < 0).sum() > 3, "some elements must be inverted for this case to mean anything"
    q, u, material = split(case)
    got, expected = force(block, q, u, **material), reference_force(block, **case)
    assert torch.isfinite(got).all()
    assert (got - expected).abs().max() <= 1e-12 * expected.abs().max()


def test_internal_forces_and_torques_cancel(block: FemModel) -> None:
    q, u, material = split(random_case(block))
    f = force(block, q, u, **material)
    assert f.sum(dim=0).abs().max() <= 1e-10 * f.abs().sum()
    assert torch.linalg.cross(q, f).sum(dim=0).abs().max() <= 1e-10 * (q.norm(dim=1) * f.norm(dim=1)).sum()


def test_a_turned_and_moved_rest_shape_has_no_forces(block: FemModel) -> None:
    rest = torch.tensor(block.mesh.vertices)
    turned = rest @ random_rotation(1).T + torch.tensor([0.3, -2.0, 5.0])
    still = torch.zeros_like(rest)
    scale = force(block, 1.01 * rest, still).abs().max()
    assert force(block, rest, still).abs().max() <= 1e-10 * scale
    assert force(block, turned, still).abs().max() <= 1e-10 * scale


def test_translation_and_rotation_are_not_damped(block: FemModel) -> None:
    q, _, material = split(random_case(block))
    turn = q.new_tensor([1.0, -2.0, 0.5])
    rigid = q.new_tensor([3.0, 1.0, -2.0]) + torch.linalg.cross(turn.expand_as(q), q)
    still = force(block, q, torch.zeros_like(q), **material)
    damped = force(block, q, torch.randn(q.shape, dtype=torch.float64), **material) - still
    assert (force(block, q, rigid, **material) - still).abs().max() <= 1e-10 * damped.abs().max()


def test_damping_takes_energy_and_keeps_momenta(block: FemModel) -> None:
    q, u, material = split(random_case(block))
    damping = force(block, q, u, **material) - force(block, q, torch.zeros_like(u), **material)
    assert (damping * u).sum() < 0.0
    assert damping.sum(dim=0).abs().max() <= 1e-10 * damping.abs().sum()
    assert torch.linalg.cross(q, damping).sum(dim=0).abs().max() <= 1e-10 * damping.norm(dim=1).sum()


@pytest.mark.parametrize("disorder", [0.1, 1.0], ids=["bent", "with inverted elements"])
def test_force_is_minus_the_slope_of_the_energy(block: FemModel, disorder: float) -> None:
    q, u, material = split(random_case(block, disorder=disorder))
    params = block.params(torch.float64, gravity=(0.0, 0.0, 0.0), **material)
    f = block.dynamics(params, Control()).force(q, torch.zeros_like(u))

    def energy(x: Tensor) -> float:
        frame = Trajectory(x[None], torch.zeros_like(x)[None], torch.zeros(1))
        return float(block.energy(frame, params).total)

    way = torch.randn(q.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    h = 1e-5
    coarse = (energy(q + h * way) - energy(q - h * way)) / (2 * h)
    fine = (energy(q + 0.5 * h * way) - energy(q - 0.5 * h * way)) / h
    slope = (4.0 * fine - coarse) / 3.0
    assert -float((f * way).sum()) == pytest.approx(slope, rel=1e-7)


def test_activation_grows_the_volume_at_rest(block: FemModel) -> None:
    """A positive activation pushes outwards; the uniform growth s of the force-free state follows from mu, lam, a."""
    rest = torch.tensor(block.mesh.vertices)
    still = torch.zeros_like(rest)
    pushed = force(block, rest, still, activation=0.2)
    assert ((pushed * rest).sum(dim=1)[rest.norm(dim=1) > 0.1] > 0).all()
    mu, lam, a = 1e5, 1e5, 0.2

    def stress(s: float) -> float:
        return mu * (1.0 - 1.0 / (3.0 * s * s + 1.0)) * s + (lam * (s**3 - 1.0 - a) - 0.75 * mu) * s * s

    low, high = 1.0, 1.5
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if stress(middle) < 0.0 else (low, middle)
    grown = force(block, rest * low, still, activation=a)
    assert grown.abs().max() <= 1e-9 * pushed.abs().max()
    assert low**3 > 1.05


def test_uniaxial_stretch_gives_the_closed_form_stress() -> None:
    """F = diag(s, t, t): the traction of the x sides is mu (1 - 1/(I + 1)) s + (lam (J - 1) - 3/4 mu) t^2."""
    model = FemModel("box", size=(1.0, 0.5, 0.25), cells=(1, 1, 1), ground=False)
    mu, lam, s, t = 2e4, 5e4, 1.3, 0.9
    q = torch.tensor(model.mesh.vertices * [s, t, t])
    f = force(model, q, torch.zeros_like(q), shear_modulus=mu, lame_modulus=lam)
    right = torch.from_numpy(model.mesh.vertex_groups["right"])
    traction = -float(f[right, 0].sum()) / (0.5 * 0.25)
    invariant, J = s * s + 2 * t * t, s * t * t
    expected = mu * (1 - 1 / (invariant + 1)) * s + (lam * (J - 1) - 0.75 * mu) * t * t
    assert traction == pytest.approx(expected, rel=1e-12)


def test_small_stretch_shows_youngs_modulus_and_poissons_ratio() -> None:
    """Stretched by eps with sides free to shrink by nu eps, the stress is E eps up to order eps^2."""
    E, nu, errors = 3e5, 0.35, []
    for eps in (1e-3, 1e-4):
        model = FemModel("box", size=(1.0, 1.0, 1.0), cells=(1, 1, 1), ground=False)
        q = torch.tensor(model.mesh.vertices * [1 + eps, 1 - nu * eps, 1 - nu * eps])
        f = force(model, q, torch.zeros_like(q), youngs_modulus=E, poisson_ratio=nu)
        right, top = (torch.from_numpy(model.mesh.vertex_groups[side]) for side in ("right", "top"))
        errors.append((abs(-float(f[right, 0].sum()) / eps - E) / E, abs(float(f[top, 1].sum()) / eps) / E))
    assert max(errors[1]) < 1e-3
    assert errors[0][0] == pytest.approx(10 * errors[1][0], rel=0.1), "the error must fall with the strain"
