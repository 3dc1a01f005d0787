"""Free motion: exact parabolas, spinning tops, and the adjoint of one step."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from diffloom import simulate
from diffloom.interfaces import State
from diffloom_geometry.rotations import rotation_matrices, symmetric_matrices
from diffloom_mechanics import Mechanics, SemiImplicitEuler
from diffloom_physics_rigid.body_set import build_body_set
from diffloom_physics_rigid.model import RigidModel
from diffloom_testing import check_gradient


def top(angular_velocity: list[float], moments: list[float]) -> RigidModel:
    return RigidModel(
        [{"shape": "box", "angular_velocity": angular_velocity, "mass": 1.0, "inertia": [*moments, 0.0, 0.0, 0.0]}],
        ground=False,
    )


def energy_and_momentum(q: Tensor, u: Tensor, inertia: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Kinetic energy of rotation, angular momentum in the world, angular velocity in the body, for each frame."""
    turns = rotation_matrices(q[:, 0, 3:])
    own = torch.einsum("fji,fj->fi", turns, u[:, 0, 3:])
    momentum = own @ inertia
    return 0.5 * (own * momentum).sum(1), torch.einsum("fij,fj->fi", turns, momentum), own


@pytest.mark.parametrize("angular_velocity", [[3.0, 5.0, 7.0], [0.1, 10.0, 0.0], [12.0, 0.3, -0.2]])
def test_torque_free_top_keeps_energy_and_momentum(angular_velocity: list[float]) -> None:
    model = top(angular_velocity, [1.0, 2.0, 3.0])
    params = model.params(torch.float64, gravity=[0.0, 0.0, 0.0])
    result = simulate(model, params, dt=1 / 960, steps=960)
    energy, momentum, _ = energy_and_momentum(result.q, result.u, symmetric_matrices(params["inertia"])[0])
    assert float((energy / energy[0] - 1).abs().max()) < 1e-9
    assert float((momentum - momentum[0]).norm(dim=1).max() / momentum[0].norm()) < 1e-11
    np.testing.assert_allclose(result.q[:, 0, 3:].norm(dim=1).numpy(), 1.0, atol=1e-14)


def test_the_intermediate_axis_alone_flips() -> None:
    for axis, flips in ((0, False), (1, True), (2, False)):
        angular_velocity = [0.0, 0.0, 0.0]
        angular_velocity[axis] = 10.0
        angular_velocity[(axis + 1) % 3] = 0.1
        model = top(angular_velocity, [1.0, 2.0, 3.0])
        params = model.params(torch.float64, gravity=[0.0, 0.0, 0.0])
        result = simulate(model, params, dt=1 / 960, steps=1440)
        _, _, own = energy_and_momentum(result.q, result.u, symmetric_matrices(params["inertia"])[0])
        lowest = float(own[:, axis].min())
        assert (lowest < -9.9) if flips else (lowest > 9.8)


def test_the_rotation_converges_with_the_fourth_power_of_the_step() -> None:
    model = top([3.0, 5.0, 7.0], [1.0, 2.0, 3.0])
    params = model.params(torch.float64, gravity=[0.0, 0.0, 0.0])

    def final(steps: int) -> Tensor:
        return simulate(model, params, dt=1.0 / steps, steps=steps, save=[steps]).q[-1, 0]

    true = final(4000)
    coarse, fine = (float((final(n) - true).norm()) for n in (50, 100))
    assert 12.0 < coarse / fine < 20.0


def test_a_huge_step_does_not_make_the_spin_grow() -> None:
    model = top([30.0, 50.0, 70.0], [1.0, 2.0, 3.0])
    params = model.params(torch.float64, gravity=[0.0, 0.0, 0.0])
    result = simulate(model, params, dt=0.5, steps=200)
    _, momentum, _ = energy_and_momentum(result.q, result.u, symmetric_matrices(params["inertia"])[0])
    assert float((momentum - momentum[0]).norm(dim=1).max() / momentum[0].norm()) < 1e-10


def test_free_flight_follows_the_exact_discrete_parabola() -> None:
    first = {"position": [1.0, 2.0, 3.0], "velocity": [0.5, 4.0, -1.0], "angular_velocity": [1.0, 2.0, 3.0]}
    model = RigidModel([{"shape": "star", **first}])
    dt, steps = 1 / 480, 300
    result = simulate(model, model.params(torch.float64), dt=dt, steps=steps)
    n = torch.arange(steps + 1, dtype=torch.float64)[:, None]
    start, velocity, g = (
        torch.tensor(v, dtype=torch.float64) for v in ([1.0, 2.0, 3.0], [0.5, 4.0, -1.0], [0.0, -9.81, 0.0])
    )
    exact = start + n * dt * velocity + 0.5 * n * (n + 1) * dt**2 * g
    np.testing.assert_allclose(result.q[:, 0, :3].numpy(), exact.numpy(), atol=1e-12)


def test_mass_has_an_effect_in_a_push_and_none_in_free_fall() -> None:
    model = RigidModel(
        [{"shape": "box", "position": [0.0, 50.0, 0.0]}], pushes=[{"force": [1.0, 0.0, 0.0], "end": 0.1}]
    )
    for push, seen in (([0.0, 0.0, 0.0], False), ([5.0, 0.0, 0.0], True)):
        mass = torch.tensor(3.0, dtype=torch.float64, requires_grad=True)
        params = model.params(torch.float64, mass=mass, push_force=[push])
        simulate(model, params, dt=0.01, steps=20).q[-1, 0, 0].backward()
        assert mass.grad is not None
        assert (float(mass.grad) != 0.0) is seen


def random_law(seed: int) -> tuple[dict[str, Tensor], State]:
    g = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=g, dtype=torch.float64)

    root = normal(3, 3, 3)
    inertia = root @ root.transpose(1, 2) + 0.5 * torch.eye(3, dtype=torch.float64)
    six = torch.stack([inertia[:, a, b] for a, b in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))], dim=1)
    q = torch.cat([normal(3, 3), torch.nn.functional.normalize(normal(3, 4), dim=1)], dim=1)
    values = {"mass": 0.5 + normal(3).abs(), "inertia": six, "gravity": normal(3), "q": q, "u": normal(3, 6)}
    return values, State(q, values["u"])


@pytest.mark.parametrize("dt", [1e-3, 0.05, 0.2])
def test_adjoint_of_free_motion(dt: float) -> None:
    values, _ = random_law(3)

    def run(mass: Tensor, inertia: Tensor, gravity: Tensor, q: Tensor, u: Tensor) -> Tensor:
        system = Mechanics(build_body_set(mass, inertia, gravity, np.zeros(3, dtype=np.bool_)))
        result = SemiImplicitEuler().rollout(system, State(q, u), dt=dt, steps=3, save=(3,), gradient=policy())
        return torch.cat([result.q[0], result.u[0]], dim=1)

    check_gradient(run, values, tolerance=1e-6, step=1e-5)


def policy() -> object:
    from diffloom.interfaces import StoreAll

    return StoreAll()


def test_a_fixed_body_stays() -> None:
    model = RigidModel(
        [{"shape": "box", "fixed": True, "position": [0.0, 0.3, 0.0]}, {"shape": "box", "position": [3.0, 2.0, 0.0]}]
    )
    result = simulate(model, model.params(torch.float64), dt=1e-3, steps=50)
    assert torch.equal(result.q[0, 0], result.q[-1, 0])
    assert float(result.q[-1, 1, 1]) < 2.0
