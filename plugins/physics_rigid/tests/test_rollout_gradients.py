"""Gradients through whole rollouts, with impacts, sliding, rolling and stacked bodies, asserted to be there."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pytest
import torch
from torch import Tensor

from diffloom import simulate
from diffloom.interfaces import Checkpointed, Control, Params, Trajectory
from diffloom_physics_rigid.model import RigidModel
from diffloom_testing import GradientComparison, compare_gradient

ALL = (
    "position", "orientation", "velocity", "angular_velocity", "mass", "gravity", "contact_stiffness",
    "contact_dissipation", "friction_stiffness", "friction", "ground_height", "ground_normal",
)  # fmt: skip


def touches(model: RigidModel, params: Params, result: Trajectory) -> Tensor:
    """(frames, bodies): whether something touches a body."""
    system = model.dynamics(params.replace(push_force=torch.zeros(1, 3).double()), Control())
    return torch.stack([system.force(q, u).abs().amax(dim=1) > 0.0 for q, u in zip(result.q, result.u, strict=True)])


def impacts(model: RigidModel, params: Params, result: Trajectory) -> int:
    """Count, frame by frame, how often a free body comes into contact."""
    touch = touches(model, params, result)
    return int((touch[1:] & ~touch[:-1]).sum())


def check(run: Callable[..., Tensor], inputs: Mapping[str, Tensor]) -> None:
    """Every gradient against differences, to 1e-5. Bodies in contact start moving a little: at rest the damping, which
    acts on closing only, has a kink.

    Differences are taken with several step lengths and the best one counts: long steps reach past the next change of
    contact, where the derivative jumps, and short ones drown in rounding.
    """
    best: dict[int, GradientComparison] = {}
    for step in (1e-4, 1e-5, 1e-6, 1e-7):
        for number, found in enumerate(compare_gradient(run, inputs, step=step)):
            if number not in best or found.error < best[number].error:
                best[number] = found
    wrong = [found for found in best.values() if not found.error <= 1e-5]
    assert not wrong, wrong
    assert all(abs(found.autograd) > 0.0 for found in best.values())


def end_of(model: RigidModel, params: Params, dt: float, steps: int) -> Callable[..., Tensor]:
    """The states half way and at the end as a function of parameters."""

    def run(**values: Tensor) -> Tensor:
        result = simulate(model, params.replace(**values), dt=dt, steps=steps, save=[steps // 2, steps])
        return torch.cat([result.q, 0.1 * result.u], dim=-1)

    return run


def test_final_pose_through_three_impacts() -> None:
    """The gradients of mass, friction and stiffness; a push makes the mass show."""
    model = RigidModel(
        [{"shape": "box", "size": [0.6, 0.4, 0.5], "position": [0.0, 0.9, 0.0], "velocity": [1.5, 0.0, 0.3],
          "orientation": [0.9, 0.2, 0.1, 0.3], "angular_velocity": [1.0, -2.0, 0.5], "mass": 5.0, "restitution": 0.8}],
        pushes=[{"vertex": 5, "impulse": [2.0, 1.0, -1.0], "start": 0.03, "end": 0.13}],
    )  # fmt: skip
    dt, steps = 1 / 960, 596
    params = model.params(torch.float64)
    assert impacts(model, params, simulate(model, params, dt=dt, steps=steps)) >= 3
    names = ("mass", "friction", "contact_stiffness", "contact_dissipation", "push_force", "push_point")

    def pose(**values: Tensor) -> Tensor:
        return simulate(model, params.replace(**values), dt=dt, steps=steps, save=[steps]).q[-1]

    check(pose, {name: params[name] for name in names})


def test_impact_of_a_mesh_with_every_parameter() -> None:
    model = RigidModel([{"shape": "pear", "position": [0.0, 0.8, 0.0], "orientation": [0.8, 0.3, 0.2, 0.4],
                         "velocity": [1.0, -1.0, 0.5], "angular_velocity": [2.0, 1.0, -3.0], "mass": 3.0}])  # fmt: skip
    params = model.params(torch.float64)
    result = simulate(model, params, dt=1 / 960, steps=300)
    assert impacts(model, params, result) >= 1
    check(end_of(model, params, 1 / 960, 300), {name: params[name] for name in ALL})


def test_sliding() -> None:
    model = RigidModel([{"shape": "box", "size": [1.0, 0.3, 0.6], "position": [0.0, 0.1495, 0.0], "mass": 4.0,
                         "velocity": [3.0, -0.02, 1.0], "angular_velocity": [0.01, 2.0, 0.02],
                         "friction": 0.3}])  # fmt: skip
    params = model.params(torch.float64)
    result = simulate(model, params, dt=1 / 960, steps=300)
    assert float(result.u[-1, 0, :3].norm()) > 1.0
    assert float(result.q[:, 0, 1].max()) < 0.152
    # Every point slips all the time: the stiffness of sticking plays no part.
    names = [name for name in ALL if name != "friction_stiffness"]
    check(end_of(model, params, 1 / 960, 300), {name: params[name] for name in names})


def test_rolling() -> None:
    model = RigidModel(
        [{"shape": "sphere", "radius": 0.2, "position": [0.0, 0.1999, 0.0], "mass": 1.5, "friction": 0.8}]
    )
    params = model.params(torch.float64, gravity=[2.0, -9.0, 0.5])
    last = simulate(model, params, dt=1 / 960, steps=400, save=[400]).last
    assert float(last.u[0, 0]) == pytest.approx(-0.2 * float(last.u[0, 5]), rel=0.1)

    # Nothing closes in and nothing slips: damping and the friction coefficient play no part.
    names = [name for name in ALL if name not in ("contact_dissipation", "friction")]
    check(end_of(model, params, 1 / 960, 400), {name: params[name] for name in names})


def test_stacked_and_colliding_bodies() -> None:
    model = RigidModel(
        [
            {"shape": "box", "size": [0.8, 0.4, 0.8], "position": [0.0, 0.195, 0.0], "mass": 4.0,
             "velocity": [0.1, -0.02, 0.05], "angular_velocity": [0.01, 0.1, 0.02]},
            {"shape": "capsule", "radius": 0.1, "length": 0.4, "position": [0.15, 0.49, 0.0], "mass": 1.0,
             "orientation": [0.7, 0.0, 0.1, 0.7], "velocity": [0.1, -0.03, 0.2], "angular_velocity": [0.1, 0.2, 0.3]},
            {"shape": "star", "scale": 0.4, "position": [-0.2, 0.68, 0.25], "velocity": [0.3, -1.5, 0.1], "mass": 1.0,
             "orientation": [0.9, 0.1, 0.2, 0.15]},
        ]
    )  # fmt: skip
    params = model.params(torch.float64)
    dt, steps = 1 / 1920, 60
    result = simulate(model, params, dt=dt, steps=steps)
    touch = touches(model, params, result)
    assert bool(touch[0, 1])
    assert not bool(touch[0, 2])
    assert bool(touch[:, 2].any())
    check(end_of(model, params, dt, steps), {name: params[name] for name in ALL})


def test_checkpoints_change_no_bit() -> None:
    model = RigidModel.example()
    grads = []
    for policy in (None, Checkpointed(segment=7), Checkpointed()):
        base = model.params(torch.float64)
        leaves = {name: base[name].clone().requires_grad_() for name in ("mass", "friction", "position")}
        result = simulate(model, base.replace(**leaves), dt=1e-3, steps=150, save_every=50, gradient=policy)
        (result.q.square().sum() + result.u.sum()).backward()
        grads.append([leaf.grad for leaf in leaves.values()])
    for other in grads[1:]:
        assert all(torch.equal(a, b) for a, b in zip(grads[0], other, strict=True) if a is not None and b is not None)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_same_bits_again_and_on_any_number_of_threads(dtype: torch.dtype) -> None:
    from diffloom_mechanics import SemiImplicitEuler

    model = RigidModel.example()

    def run(target: str) -> list[np.ndarray]:
        base = model.params(dtype)
        leaves = {name: base[name].clone().requires_grad_() for name in ("mass", "friction", "velocity", "push_force")}
        scheme = SemiImplicitEuler(target=target)  # type: ignore[arg-type]
        result = simulate(model, base.replace(**leaves), dt=1e-3, steps=200, save_every=40, integrator=scheme)
        (result.q.square().sum() + result.u.sum()).backward()
        grads = [leaf.grad.numpy() for leaf in leaves.values() if leaf.grad is not None]
        return [result.q.detach().numpy(), result.u.detach().numpy(), *grads]

    first = run("serial")
    for again in (run("serial"), run("parallel")):
        for a, b in zip(first, again, strict=True):
            np.testing.assert_array_equal(a, b)


def test_float32_follows_float64() -> None:
    model = RigidModel.example()
    exact, rough = (
        simulate(model, model.params(t), dt=1e-3, steps=100, save_every=20) for t in (torch.float64, torch.float32)
    )
    np.testing.assert_allclose(rough.q.numpy(), exact.q.numpy(), atol=2e-5)
