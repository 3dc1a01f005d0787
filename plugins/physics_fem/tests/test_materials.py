"""Materials by name against closed forms, gradients through what they remember, and materials from outside."""

import numpy as np
import pytest
import torch

from diffloom import simulate
from diffloom.interfaces import InputError, MemorySpec, NoGradient, ParamSpec, State
from diffloom_kernels import add33, constant, det33, device, dot33, inverse33, log, mul33, sub33, transpose33
from diffloom_physics_fem import SolidMaterial
from diffloom_physics_fem.elasticity import von_mises
from diffloom_physics_fem.model import FemModel
from diffloom_testing import check_gradient, check_model

REAL = torch.float64
STIFF = {"shear_modulus": 1e5, "bulk_modulus": 2e5, "damping": 0.0}


def make(material):
    """A small block without ground."""
    return FemModel("box", size=(0.2, 0.2, 0.2), cells=(1, 1, 1), ground=False, material=material)


def drive(model, rate, steps, dt=1e-2, hold=0, **values):
    """Move every vertex at the velocity L x for some steps, then hold it; return trajectory and parameters."""
    params = model.params(REAL, mass=1e12, gravity=(0.0, 0.0, 0.0), **{**STIFF, **values})
    x = torch.from_numpy(model.mesh.vertices)
    given = {"dt": dt, "integrator": "semi_implicit", "gradient": NoGradient()}
    path = simulate(model, params, steps=steps, state=State(x, x @ rate.T), **given)
    if hold:
        last = path.last
        still = State(last.q, torch.zeros_like(last.u), memory=last.memory)
        path = simulate(model, params, steps=hold, state=still, **given)
    return path, params


def shear(gamma):
    """Velocity gradient of simple shear."""
    rate = torch.zeros(3, 3, dtype=REAL)
    rate[0, 1] = gamma
    return rate


def test_von_mises_yields_in_shear_at_its_limit_and_hardens_as_the_closed_form():
    model = make("von_mises")
    limit, hardening, mu = 400.0, 2e4, 1e5
    path, params = drive(model, shear(0.02), 100, yield_stress=limit, hardening=hardening)
    sigma = model.cauchy_stress(path, params)[:, 0]
    found, gamma = sigma[:, 0, 1], 0.02 * 1e-2 * torch.arange(101, dtype=REAL)
    # Small strain: tau = mu gamma, then tau (1 + H / (3 mu)) = Y / sqrt(3) + H gamma / 3.
    flowing = (limit / 3**0.5 + hardening * gamma / 3) / (1 + hardening / (3 * mu))
    expected = torch.minimum(mu * gamma, flowing)
    assert float(found[-1]) < 0.2 * mu * float(gamma[-1])
    torch.testing.assert_close(found, expected, rtol=2e-3, atol=0.5)
    amount = path.memory["plastic_strain"][-1]
    torch.testing.assert_close(amount, ((gamma[-1] - expected[-1] / mu) / 3**0.5).expand_as(amount), rtol=2e-3, atol=0)
    torch.testing.assert_close(von_mises(sigma)[-1], limit + hardening * amount[0], rtol=1e-9, atol=0.0)


def test_von_mises_yields_in_uniaxial_strain_at_the_closed_form():
    model, limit = make("von_mises"), 500.0
    rate = torch.diag(torch.tensor([0.01, 0.0, 0.0], dtype=REAL))
    path, params = drive(model, rate, 80, yield_stress=limit, hardening=0.0)
    sigma = model.cauchy_stress(path, params)[:, 0]
    stretch = 1.0 + 0.01 * 1e-2 * torch.arange(81, dtype=REAL)
    apart = stretch * (sigma[:, 0, 0] - sigma[:, 1, 1])
    elastic = 1e5 * stretch ** (-2 / 3) * (stretch.square() - 1.0)  # 2 mu strain at small strain
    assert float(elastic[-1]) > 2.0 * limit
    torch.testing.assert_close(apart, torch.clamp(elastic, max=limit), rtol=1e-9, atol=1e-6)


def test_drucker_prager_slides_at_the_angle_of_friction_and_bears_no_tension():
    model, angle = make("drucker_prager"), 0.5
    squeeze = torch.diag(torch.tensor([-0.05, -0.05, -0.05], dtype=REAL))
    path, params = drive(model, squeeze + shear(0.2), 100, friction_angle=angle, cohesion=0.0)
    sigma = model.cauchy_stress(path, params)[-1, 0]
    pressure = -torch.trace(sigma) / 3.0
    ratio = 6 * np.sin(angle) / (3 - np.sin(angle))
    assert float(pressure) > 1e3
    torch.testing.assert_close(von_mises(sigma), ratio * pressure, rtol=1e-9, atol=0.0)
    apart, params = drive(model, -squeeze, 100, friction_angle=angle, cohesion=0.0)
    assert float(model.cauchy_stress(apart, params)[-1].abs().max()) < 1e-6
    held, params = drive(model, -squeeze, 100, friction_angle=angle, cohesion=300.0)
    mean = model.cauchy_stress(held, params)[-1, 0].diagonal().mean()
    ratio = float(torch.linalg.det(torch.eye(3, dtype=REAL) * 1.05))
    torch.testing.assert_close(float(mean) * ratio, 300.0 / np.tan(angle), rtol=1e-9, atol=0.0)


def test_a_maxwell_branch_relaxes_exponentially():
    model = make("viscoelastic")
    time, branch = 0.05, 3e5
    path, params = drive(model, shear(1.0), 1, dt=1e-3, hold=60, branch_modulus=branch, relaxation_time=time)
    found = model.cauchy_stress(path, params)[:, 0, 0, 1]
    # The shear of 0.001 was reached within one step, after which the branch relaxed once.
    since = 1e-3 * (1 + torch.arange(61, dtype=REAL))
    torch.testing.assert_close(found, 1e-3 * (1e5 + branch * torch.exp(-since / time)), rtol=1e-4, atol=0.0)


@pytest.mark.parametrize("material", ["von_mises", "drucker_prager", "viscoelastic"])
def test_gradients_through_memory_agree_with_differences(material):
    model = make(material)
    names = {
        "von_mises": {"yield_stress": 1500.0, "hardening": 2e4, "shear_modulus": 1e5},
        "drucker_prager": {"friction_angle": 0.4, "cohesion": 400.0, "bulk_modulus": 2e5},
        "viscoelastic": {"branch_modulus": 1e5, "relaxation_time": 0.01, "shear_modulus": 5e4},
    }[material]
    squeeze = shear(3.0) - 1.5 * torch.eye(3, dtype=REAL)
    x = torch.from_numpy(model.mesh.vertices)

    def motion(start, **values):
        params = model.params(REAL, gravity=(0.0, 0.0, 0.0), **values)
        path = simulate(model, params, dt=5e-4, steps=30, save=(10, 30), state=State(x, start))
        return torch.cat([path.q.reshape(-1), path.u.reshape(-1), *(v.reshape(-1) for v in path.memory.values())])

    given = {name: torch.tensor(value, dtype=REAL) for name, value in names.items()}
    found = check_gradient(motion, {"start": x @ squeeze.T, **given}, step=1e-6, tolerance=1e-5, directions=1)
    assert not any(each.silent for each in found)
    if material != "viscoelastic":
        params = model.params(REAL, gravity=(0.0, 0.0, 0.0), **names)
        path = simulate(model, params, dt=5e-4, steps=30, save=(30,), state=State(x, x @ squeeze.T))
        assert float(path.memory["plastic_strain"].min()) > 1e-3


@device
def neo_hookean_energy(F, p):
    """mu/2 (F:F - 3) - mu log J + lam/2 (log J)^2."""
    J = det33(F)
    half = constant(J, 0.5)
    return half * p[0] * (dot33(F, F) - constant(J, 3.0)) - p[0] * log(J) + half * p[1] * log(J) * log(J)


@device
def neo_hookean_stress(F, p):
    """P = mu (F - F^-T) + lam log J F^-T."""
    T = transpose33(inverse33(F))
    return add33(mul33(sub33(F, T), p[0]), mul33(T, p[1] * log(det33(F))))


OWN = (
    ParamSpec("own_modulus", 2e4, "Pa", "mu", ("tets",), (0.0, None)),
    ParamSpec("own_volume_modulus", 3e4, "Pa", "lam", ("tets",), (0.0, None)),
)


def test_an_energy_from_outside_gives_the_stress_written_by_hand_with_gradients():
    models = [make(SolidMaterial(OWN, energy=neo_hookean_energy)), make(SolidMaterial(OWN, stress=neo_hookean_stress))]
    x = torch.from_numpy(models[0].mesh.vertices)
    start = x @ (shear(4.0) - 2.0 * torch.eye(3, dtype=REAL)).T
    modulus = torch.tensor(2e4, dtype=REAL, requires_grad=True)
    found = []
    for model in models:
        params = model.params(REAL, gravity=(0.0, 0.0, 0.0), own_modulus=modulus)
        path = simulate(model, params, dt=5e-4, steps=40, save=(40,), state=State(x, start))
        assert not path.memory
        found.append((path.q, *torch.autograd.grad(path.q.square().sum(), modulus)))
    torch.testing.assert_close(found[0], found[1], rtol=1e-9, atol=1e-12)

    def end(own_modulus, start):
        params = models[0].params(REAL, gravity=(0.0, 0.0, 0.0), own_modulus=own_modulus)
        return simulate(models[0], params, dt=5e-4, steps=40, save=(40,), state=State(x, start)).q

    check_gradient(end, {"own_modulus": torch.tensor(2e4, dtype=REAL), "start": start}, step=1e-4)


@pytest.mark.parametrize("material", ["von_mises", pytest.param("viscoelastic", marks=pytest.mark.slow)])
def test_backward_euler_finds_the_motion_of_small_steps(material):
    model = make(material)
    x = torch.from_numpy(model.mesh.vertices)
    params = model.params(REAL, gravity=(0.0, 0.0, 0.0), damping=50.0)
    start = State(x, x @ (shear(1.5) - 0.5 * torch.eye(3, dtype=REAL)).T)
    ends = [
        simulate(model, params, dt=0.02 / n, steps=n, save=(n,), state=start, integrator=scheme).q[-1]
        for scheme, n in (("semi_implicit", 400), ("backward_euler", 40), ("backward_euler", 80))
    ]
    far, near = (float((end - ends[0]).abs().max()) for end in ends[1:])
    assert near < 0.7 * far < 0.1 * float((ends[0] - x).abs().max())


@pytest.mark.slow
@pytest.mark.parametrize("material", ["von_mises", "drucker_prager", "viscoelastic"])
def test_conformance(material):
    model = FemModel("box", size=(0.2, 0.2, 0.2), cells=(1, 1, 1), material=material)
    report = check_model(model, settings={"fit": "shear_modulus", "variants": (), "impacts": None, "steps": 30})
    assert not report.failures, str(report)


def test_refusals():
    with pytest.raises(InputError, match="expected"):
        make("steel")
    with pytest.raises(InputError, match="got memory or update alone"):
        SolidMaterial(OWN, stress=neo_hookean_stress, memory=(MemorySpec("age", 0.0, "s", "age", ("tets",)),))
    with pytest.raises(InputError, match="either a stress, or an energy"):
        SolidMaterial(OWN)
    model = make("von_mises")
    with pytest.raises(InputError, match="not neo-Hookean"):
        model.energy(simulate(model, dt=1e-4, steps=1), model.params())
