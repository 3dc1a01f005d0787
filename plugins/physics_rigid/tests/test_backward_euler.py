"""Stiff contact with backward Euler: steps far beyond what the explicit scheme survives, with exact gradients."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from diffloom import simulate
from diffloom.interfaces import Control
from diffloom_mechanics.jacobian import ForceJacobian, colour_nodes
from diffloom_physics_rigid.model import RigidModel
from diffloom_physics_rigid.pairs import find_near_pairs
from diffloom_testing import check_gradient

BOX = {"shape": "box", "size": [0.6, 0.4, 0.5], "position": [0.0, 0.5, 0.0], "orientation": [0.9, 0.2, 0.1, 0.3],
       "velocity": [1.0, 0.0, 0.3], "mass": 5.0}  # fmt: skip


@pytest.mark.parametrize("dt", [1 / 120, 1 / 60])
def test_a_box_comes_to_rest_at_steps_that_break_the_explicit_scheme(dt: float) -> None:
    model = RigidModel([BOX])
    params = model.params(torch.float64)
    assert dt > 10.0 * model.suggested_dt()
    steps = round(1.5 / dt)
    last = simulate(model, params, dt=dt, steps=steps, save=[steps], integrator="backward_euler").last
    assert float(last.q[0, 1]) == pytest.approx(0.2, abs=1e-3)
    assert float(last.u.abs().max()) < 1e-6
    force = model.dynamics(params, Control()).force(last.q, last.u)
    np.testing.assert_allclose(force[0, :3].numpy(), [0.0, 5.0 * 9.81, 0.0], atol=1e-5)
    stiff = RigidModel([BOX], contact="linear")
    explicit = simulate(stiff, stiff.params(torch.float64), dt=dt, steps=steps)
    assert float(explicit.q[:, 0, 1].max()) > 1.0, "with the law whose damping sets the step"


@pytest.mark.parametrize("scheme", ["backward_euler", pytest.param("implicit_midpoint", marks=pytest.mark.slow)])
def test_gradients_through_an_impact(scheme: str) -> None:
    model = RigidModel([BOX])
    params = model.params(torch.float64)
    dt, steps = 1 / 240, 60
    names = (
        "position",
        "velocity",
        "angular_velocity",
        "mass",
        "friction",
        "contact_stiffness",
        "contact_dissipation",
        "gravity",
    )

    def run(**values: Tensor) -> Tensor:
        result = simulate(model, params.replace(**values), dt=dt, steps=steps, save=[steps], integrator=scheme)
        return torch.cat([result.q, 0.1 * result.u], dim=-1)

    result = simulate(model, params, dt=dt, steps=steps, integrator=scheme)
    system = model.dynamics(params, Control())
    assert any(float(system.force(q, u).abs().max()) > 0.0 for q, u in zip(result.q, result.u, strict=True))
    check_gradient(run, {name: params[name] for name in names}, tolerance=1e-5, step=1e-5)


def test_a_stack_under_backward_euler() -> None:
    model = RigidModel([{"shape": "box", "position": [0.0, 0.5 + k, 0.0], "mass": 1.0 + k} for k in range(2)])
    params = model.params(torch.float64)
    last = simulate(model, params, dt=1 / 120, steps=60, save=[60], integrator="backward_euler").last
    np.testing.assert_allclose(last.q[:, 1].numpy(), [0.5, 1.5], atol=0.01)
    assert float(last.u.abs().max()) < 1e-2


PILE = [
    {
        "shape": "box",
        "size": [0.6, 0.4, 0.5],
        "position": [0.0, 0.199, 0.0],
        "angular_velocity": [0.1, 0.2, 0.3],
        "mass": 5.0,
    },
    {"shape": "sphere", "radius": 0.2, "position": [0.2, 0.5985, 0.1], "velocity": [0.3, -0.2, 0.0], "mass": 2.0},
    {"shape": "star", "scale": 0.4, "position": [-0.1, 0.57, -0.1], "velocity": [0.0, -0.4, 0.2], "mass": 1.0},
    {"shape": "box", "position": [3.0, 0.499, 0.0], "velocity": [0.1, -0.1, 0.0]},
]


def test_found_pairs_have_exact_blocks() -> None:
    model = RigidModel(PILE)
    params = model.params(torch.float64)
    system = model.dynamics(params, Control())
    state = model.initial_state(params)
    found = ForceJacobian(system.compiled, system.compiled.tensors, False, 1.0)
    assert found.complete
    (pairs,) = found.blocks(0, (state.q,), (state.u,), 0.0)
    rows, columns, by_q, by_u = pairs.rows, pairs.columns, pairs.by_q, pairs.by_u
    assert (0, 1) in zip(rows, columns, strict=True)
    implicit = system.evaluation(system.tensors, 1.0, implicit=True)
    for wrt, width, blocks in (("q", 7, by_q), ("u", 6, by_u)):
        whole = np.zeros((4, 6, 4, width))
        np.add.at(whole, (rows, slice(None), columns), blocks)
        for body in range(4):
            for c in range(width):
                step = torch.zeros_like(state.q if wrt == "q" else state.u)
                step[body, c] = 1e-7
                sides = [
                    implicit.force(0, (state.q + s * step,), (state.u,))[0] if wrt == "q"
                    else implicit.force(0, (state.q,), (state.u + s * step,))[0] for s in (1.0, -1.0)
                ]  # fmt: skip
                change = ((sides[0] - sides[1]) / 2e-7).numpy()
                np.testing.assert_allclose(whole[:, :, body, c], change, atol=2e-5 * np.abs(whole).max())
    assert np.abs(by_q[(rows == 0) & (columns == 1)]).max() > 1e3, "box and ball must touch"


def test_neighbours_and_their_colours() -> None:
    model = RigidModel([{"shape": "sphere", "radius": 0.5, "position": [0.9 * k, 5.0, 0.0]} for k in range(7)])
    q = model.initial_state(model.params(torch.float64)).q.numpy()
    pairs = find_near_pairs(q, np.full(7, 0.5))
    assert sorted(map(tuple, np.sort(pairs, axis=1).tolist())) == [(k, k + 1) for k in range(6)]
    assert colour_nodes(7, pairs).tolist() == [0, 1, 2, 0, 1, 2, 0]
    assert find_near_pairs(q, np.array([0.5, -np.inf, 0.5, -np.inf, 0.5, -np.inf, 0.5])).shape == (0, 2)


def test_gradients_through_bodies_that_touch() -> None:
    model = RigidModel(PILE)
    params = model.params(torch.float64)
    names = ("position", "velocity", "mass", "friction", "contact_stiffness")

    def run(**values: Tensor) -> Tensor:
        result = simulate(model, params.replace(**values), dt=1 / 240, steps=12, save=[12], integrator="backward_euler")
        return torch.cat([result.q, 0.1 * result.u], dim=-1)

    # Three micrometres at most: bodies sink in by a fraction of a millimetre, and no point may come or go.
    check_gradient(run, {name: params[name] for name in names}, tolerance=1e-5, step=1e-6)
