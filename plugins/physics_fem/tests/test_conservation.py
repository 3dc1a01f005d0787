"""Conservation laws of an undamped solid: energy through bounces, momenta in flight."""

import pytest
import torch

from diffloom import simulate
from diffloom.interfaces import NoGradient
from diffloom_physics_fem.model import FemModel

DOUBLE = torch.float64


def test_a_bouncing_ball_keeps_its_energy_for_two_seconds() -> None:
    model = FemModel("ball", radius=0.1, layers=2)
    params = model.params(
        DOUBLE, position=(0.0, 0.4, 0.0), damping=0.0, contact_dissipation=0.0, friction=0.0, friction_stiffness=0.0,
        density=1000.0, youngs_modulus=2e5, poisson_ratio=0.35, contact_stiffness=5e3,
    )  # fmt: skip
    dt = 5e-5
    trajectory = simulate(model, params, dt=dt, steps=round(2.0 / dt), save_every=20, gradient=NoGradient())
    energy = model.energy(trajectory, params)
    bounces = ((energy.contact[1:] > 0) & (energy.contact[:-1] == 0)).sum()
    drift = ((energy.total - energy.total[0]) / energy.total[0]).abs().max()
    print(f"{int(bounces)} bounces, energy {float(energy.total[0]):.3f} J, largest deviation {float(drift):.2e}")
    assert bounces >= 3
    assert energy.elastic.max() > 0.05 * energy.total[0], "the ball is squeezed"
    assert drift < 0.01


def test_momenta_of_a_spinning_solid_in_flight() -> None:
    """Linear and angular momentum are kept by every step, damped or not, because internal forces exert no torque."""
    model = FemModel("box", size=(0.3, 0.2, 0.1), cells=(3, 2, 1), ground=False)
    params = model.params(
        DOUBLE, gravity=(0.0, 0.0, 0.0), velocity=(1.0, 2.0, 3.0), angular_velocity=(4.0, -3.0, 8.0), damping=30.0,
        shear_modulus=2e4, lame_modulus=4e4,
    )  # fmt: skip
    trajectory = simulate(model, params, dt=2e-4, steps=5000, save_every=500)
    mass = model.masses(params)[:, None]
    linear = (mass * trajectory.u).sum(dim=1)
    angular = torch.linalg.cross(trajectory.q, mass * trajectory.u).sum(dim=1)
    assert (linear - linear[0]).norm(dim=1).max() < 1e-12 * linear[0].norm()
    assert (angular - angular[0]).norm(dim=1).max() < 1e-10 * angular[0].norm()


@pytest.mark.parametrize("start", ["inverted", "flat", "a point"])
def test_a_solid_recovers_from_any_shape(start: str) -> None:
    """The energy is defined through inversion: turned inside out or squashed flat, it goes on and swells again."""
    model = FemModel("box", size=(0.2, 0.2, 0.2), cells=(2, 2, 2), ground=False)
    factor = {"inverted": (1.0, -0.8, 1.0), "flat": (1.0, 0.0, 1.0), "a point": (0.0, 0.0, 0.0)}[start]
    torch.manual_seed(0)
    noise = 1e-3 * torch.randn(len(model.mesh.vertices), 3, dtype=DOUBLE)
    shape = torch.tensor(model.mesh.vertices * factor) + noise
    params = model.params(
        DOUBLE, start_shape=shape, gravity=(0.0, 0.0, 0.0), damping=20.0, shear_modulus=1e4, lame_modulus=2e4
    )
    trajectory = simulate(model, params, dt=2e-4, steps=5000, save=[0, 5000])
    corners = trajectory.q[:, torch.from_numpy(model.mesh.tets)]
    volumes = torch.linalg.det(corners[:, :, 1:] - corners[:, :, :1]) / 6.0
    assert (volumes[0] <= 1e-6).any()
    assert float(volumes[1].min()) > 0.5 * float(model.mesh.volumes.min())
