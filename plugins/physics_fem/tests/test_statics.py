"""Solids at rest under load: against beam theory, and implicit against explicit stepping."""

import itertools
import math

import pytest
import torch

from diffloom import simulate
from diffloom.interfaces import NoGradient
from diffloom_physics_fem.model import FemModel

DOUBLE = torch.float64
LENGTH, HEIGHT, E, NU, DENSITY, GRAVITY = 1.0, 0.1, 1e6, 0.3, 1000.0, 0.05


def tip_deflection(across: int) -> float:
    """Sag of a cantilever's end [m], with ``across`` cells over its height and one over its width."""
    size, cells = (LENGTH, HEIGHT, HEIGHT / across), (10 * across, across, 1)
    model = FemModel("beam", size=size, cells=cells, fixed=["left"], ground=False)
    params = model.params(DOUBLE, youngs_modulus=E, poisson_ratio=NU, density=DENSITY, gravity=(0.0, -GRAVITY, 0.0))
    # Steps of two periods: backward Euler has damped all motion after a few.
    end = simulate(model, params, dt=4.0, steps=5, save=[5], integrator="backward_euler", gradient=NoGradient()).last
    assert end.u.abs().max() < 1e-6
    right = torch.from_numpy(model.mesh.vertex_groups["right"])
    return -float((end.q[right, 1] - torch.tensor(model.mesh.vertices)[right, 1]).mean())


def test_a_cantilever_approaches_euler_bernoulli_with_second_order() -> None:
    """w = 3/2 rho g L^4/(E h^2) at the end of a beam under its own weight.

    Linear tetrahedra are too stiff in bending by a share that falls with the square of the cell size. Theory of
    slender beams leaves out shear, which adds (8/5)(1 + nu)(h/L)^2/2, 1 percent here; the slope is taken to the sum.
    """
    slender = 1.5 * DENSITY * GRAVITY * LENGTH**4 / (E * HEIGHT**2)
    shear = DENSITY * GRAVITY * LENGTH**2 / (2.0 * (5.0 / 6.0) * E / (2.0 * (1.0 + NU)))
    deflections = {n: tip_deflection(n) for n in (2, 4, 8)}
    excess = [(slender + shear) / w - 1.0 for w in deflections.values()]
    slopes = [math.log2(a / b) for a, b in itertools.pairwise(excess)]
    print(f"deflections [m] {deflections}, Euler-Bernoulli {slender:.4e}; stiffness excess {excess}, slopes {slopes}")
    assert 0.95 < deflections[8] / slender < 1.0
    assert all(1.75 < slope < 2.1 for slope in slopes)
    extrapolated = (4.0 * deflections[8] - deflections[4]) / 3.0
    assert extrapolated == pytest.approx(slender, rel=0.01)


@pytest.mark.parametrize("support", ["clamped", "on the ground"])
def test_implicit_and_explicit_stepping_find_the_same_equilibrium(support: str) -> None:
    clamped = support == "clamped"
    model = FemModel("box", size=(0.3, 0.15, 0.15), cells=(4, 2, 2), fixed=["left"] if clamped else [])
    values = {"shear_modulus": 2e4, "lame_modulus": 3e4, "damping": 500.0, "density": 1000.0, "friction": 0.0}
    values |= {"contact_stiffness": 1e4, "contact_dissipation": 3.0}
    params = model.params(DOUBLE, position=(0.0, 1.0 if clamped else 0.075, 0.0), **values)
    dt = 1e-3
    explicit = simulate(model, params, dt=dt, steps=25_000, save=[0, 25_000], gradient=NoGradient())
    implicit = simulate(model, params, dt=50 * dt, steps=100, save=[100], integrator="backward_euler",
                        gradient=NoGradient()).last  # fmt: skip
    sag = float((explicit.q[1] - explicit.q[0]).abs().max())
    assert sag > (0.02 if clamped else 1e-3)
    assert explicit.u[1].abs().max() < 1e-6
    assert implicit.u.abs().max() < 1e-6
    assert (implicit.q - explicit.q[1]).abs().max() < 1e-5 * sag
    if not clamped:
        assert explicit.q[1][:, 1].min() < -1e-4, "it rests in the contact's compliance"
