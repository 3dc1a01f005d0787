"""Contact between bodies: momentum, stacks, the broad phase, and gradients of every kind of pair."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from diffloom import simulate
from diffloom.interfaces import Control, Params, State
from diffloom_physics_rigid.model import RigidModel
from diffloom_testing import check_gradient

CONTACT = ("contact_stiffness", "contact_dissipation", "friction_stiffness", "friction")
PAIRS = [
    ("box", "box"), ("sphere", "box"), ("sphere", "sphere"), ("capsule", "capsule"), ("sphere", "star"),
    ("star", "goblet"), ("capsule", "torus"), ("box", "chair"),
]  # fmt: skip


def touching(one: str, two: str, seed: int) -> tuple[RigidModel, Params, State]:
    """Two bodies in some pose in which they touch, moving."""
    model = RigidModel([{"shape": one, "mass": 2.0, "friction": 0.3}, {"shape": two, "mass": 3.0}], ground=False)
    g = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=g, dtype=torch.float64)

    while True:
        place = torch.stack([torch.zeros(3, dtype=torch.float64), 0.4 * normal(3)])
        params = model.params(
            torch.float64,
            position=place,
            orientation=normal(2, 4),
            velocity=normal(2, 3),
            angular_velocity=normal(2, 3),
        )
        state = model.initial_state(params)
        if float(model.dynamics(params, Control()).force(state.q, state.u).abs().max()) > 0.0:
            return model, params, state


@pytest.mark.parametrize(("one", "two"), PAIRS)
def test_action_is_reaction_and_gradients_are_exact(one: str, two: str) -> None:
    for seed in (0, 1):
        model, params, state = touching(one, two, seed)

        def force(
            q: Tensor, u: Tensor, model: RigidModel = model, params: Params = params, **contact: Tensor
        ) -> Tensor:
            return model.dynamics(params.replace(**contact), Control()).force(q, u, dt=1e-3)

        f = force(state.q, state.u)
        total = f[:, :3].sum(0)
        moment = (f[:, 3:] + torch.linalg.cross(state.q[:, :3], f[:, :3])).sum(0)
        assert float(total.norm() + moment.norm()) < 1e-12 * float(f.norm())
        check_gradient(force, {"q": state.q, "u": state.u}, tolerance=1e-6, step=1e-6)

        # Forces are nearly linear in these: longer steps drown less in rounding.
        def of_contact(force: Callable[..., Tensor] = force, state: State = state, **contact: Tensor) -> Tensor:
            return force(state.q, state.u, **contact)

        check_gradient(of_contact, {name: params[name] for name in CONTACT}, tolerance=1e-6, step=1e-4)


def test_two_balls_exchange_their_speeds() -> None:
    ball = {"shape": "sphere", "radius": 0.1, "restitution": 1.0, "mass": 2.0, "friction": 0.0}
    one = {**ball, "velocity": [1.0, 0.0, 0.0]}
    model = RigidModel([one, {**ball, "position": [0.25, 0.0, 0.0]}], ground=False)
    params = model.params(torch.float64, gravity=[0.0, 0.0, 0.0])
    last = simulate(model, params, dt=2e-5, steps=6000, save=[6000]).last
    np.testing.assert_allclose(last.u[:, 0].numpy(), [0.0, 1.0], atol=2e-3)


def test_a_collision_of_several_keeps_momentum_and_angular_momentum() -> None:
    shapes = ("box", "sphere", "star", "capsule", "ell")
    rng = np.random.default_rng(4)
    tables: list[dict[str, Any]] = []
    for k, shape in enumerate(shapes):
        place = 1.1 * np.array([np.cos(k * 1.2566), 0.2 * k, np.sin(k * 1.2566)])
        moving = {"velocity": (-2.0 * place).tolist(), "angular_velocity": rng.normal(size=3).tolist()}
        tables.append({"shape": shape, "mass": 1.0 + k, "position": place.tolist(), **moving})
    model = RigidModel(tables, ground=False)
    params = model.params(torch.float64, gravity=[0.0, 0.0, 0.0])
    result = simulate(model, params, dt=2e-4, steps=4000, save_every=400)
    assert contact_seen(model, params, result.q, result.u)

    def momenta(q: Tensor, u: Tensor) -> Tensor:
        from diffloom_geometry.rotations import rotation_matrices, symmetric_matrices

        mass = model.masses(params)[:, None]
        turns = rotation_matrices(q[:, 3:])
        inertia = turns @ symmetric_matrices(model.inertias(params)) @ turns.transpose(1, 2)
        spin = torch.einsum("bij,bj->bi", inertia, u[:, 3:])
        return torch.cat([(mass * u[:, :3]).sum(0), (torch.linalg.cross(q[:, :3], mass * u[:, :3]) + spin).sum(0)])

    start, end = momenta(result.q[0], result.u[0]), momenta(result.q[-1], result.u[-1])
    np.testing.assert_allclose(end[:3].numpy(), start[:3].numpy(), atol=1e-10)
    # Forces act where the bodies were, then the bodies move: angular momentum drifts with the step length.
    np.testing.assert_allclose(end[3:].numpy(), start[3:].numpy(), atol=2e-3 * float(start.abs().max()))


def contact_seen(model: RigidModel, params: Params, q: Tensor, u: Tensor) -> bool:
    """Return True if a force acts in one of the frames."""
    system = model.dynamics(params, Control())
    return any(float(system.force(a, b).abs().max()) > 0.0 for a, b in zip(q, u, strict=True))


def test_a_stack_stands() -> None:
    """Boxes of one size, laid crosswise: no box has a corner inside another."""
    turns = [[1.0, 0.0, 0.1 * k, 0.0] for k in range(3)]
    boxes = [
        {"shape": "box", "position": [0.0, 0.5 + k, 0.0], "orientation": turns[k], "mass": 1.0 + k} for k in range(3)
    ]
    model = RigidModel(boxes)
    dt = model.suggested_dt()
    # Hunt-Crossley damps by depth, so the remaining motion at rest fades over a second or so.
    steps = round(4.0 / dt)
    last = simulate(model, model.params(torch.float64), dt=dt, steps=steps, save=[steps]).last
    np.testing.assert_allclose(last.q[:, 1].numpy(), [0.5, 1.5, 2.5], atol=0.01)
    assert float(last.u.abs().max()) < 1e-3
    force = model.dynamics(model.params(torch.float64), Control()).force(last.q, last.u)
    np.testing.assert_allclose(force[:, 1].numpy(), [9.81, 19.62, 29.43], rtol=1e-3)


def test_a_ball_rests_in_a_bowl_and_on_a_fixed_table() -> None:
    model = RigidModel(
        [
            {"shape": "bowl", "fixed": True, "position": [0.0, 0.3, 0.0]},
            {"shape": "sphere", "radius": 0.12, "position": [0.1, 0.6, 0.05], "name": "in the bowl"},
            {"shape": "table", "fixed": True, "position": [3.0, 0.6, 0.0]},
            {"shape": "box", "scale": 0.2, "position": [3.05, 0.9, 0.0], "name": "on the table"},
        ]
    )
    dt = 2e-4
    last = simulate(model, model.params(torch.float64), dt=dt, steps=15000, save=[15000]).last
    bowl, top = model.bodies[0], float(model.bodies[2].vertices[:, 1].max()) + 0.6
    floor = 0.3 + float(bowl.vertices[np.linalg.norm(bowl.vertices[:, [0, 2]], axis=1) < 1e-9][:, 1].max())
    assert float(last.q[1, 1]) == pytest.approx(floor + 0.12, abs=0.03)
    assert float(last.q[1, [0, 2]].norm()) < 0.2
    assert float(last.q[3, 1]) == pytest.approx(top + 0.1, abs=0.005)


def test_the_broad_phase_finds_what_all_pairs_find() -> None:
    """Many bodies: the force of the whole scene is the sum of the forces of each pair alone."""
    rng = np.random.default_rng(7)
    names = ("box", "sphere", "capsule")
    tables = [
        {"shape": names[k % 3], "scale": float(rng.uniform(0.4, 1.5)), "mass": 1.0 + k,
         "position": rng.uniform(-0.9, 0.9, 3).tolist(), "orientation": rng.normal(size=4).tolist(),
         "velocity": rng.normal(size=3).tolist(), "fixed": k % 5 == 4}
        for k in range(9)
    ]  # fmt: skip
    tables[3]["collides"] = False

    def force(chosen: list[int]) -> Tensor:
        model = RigidModel([tables[k] for k in chosen], ground=False, collisions=True)
        params = model.params(torch.float64)
        state = model.initial_state(params)
        return model.dynamics(params, Control()).force(state.q, state.u)

    total = torch.zeros(9, 6, dtype=torch.float64)
    for i in range(9):
        for j in range(i + 1, 9):
            total[[i, j]] += force([i, j])
    assert int((total.abs().max(dim=1).values > 0.0).sum()) >= 6
    assert float(total[3].abs().max()) == 0.0
    np.testing.assert_allclose(force(list(range(9))).numpy(), total.numpy(), rtol=1e-12, atol=1e-9)


def test_order_of_bodies_does_not_matter() -> None:
    model = RigidModel.example()
    tables = [
        {"shape": "box", "size": [0.5, 0.3, 0.4], "position": [0.1, 0.3, 0.0], "angular_velocity": [0.5, 1.0, -2.0]},
        {"shape": "sphere", "radius": 0.2, "position": [0.3, 0.35, 0.05]},
        {"shape": "star", "scale": 0.5, "position": [0.2, 0.6, 0.1], "orientation": [0.9, 0.3, 0.1, 0.2]},
    ]
    results = []
    for order in ([0, 1, 2], [2, 0, 1]):
        model = RigidModel([tables[k] for k in order])
        last = simulate(model, model.params(torch.float64), dt=5e-4, steps=200, save=[200]).last
        results.append(last.q[[order.index(k) for k in range(3)]])
    np.testing.assert_allclose(results[0].numpy(), results[1].numpy(), atol=1e-9)
