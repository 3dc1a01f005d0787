"""Stiff contact with backward Euler: steps far beyond what the explicit scheme survives, with exact gradients."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from diffloom.interfaces import Control
from diffloom.simulation import simulate
from diffloom.testing import check_gradient
from diffloom_physics_rigid.model import RigidModel

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
    explicit = simulate(model, params, dt=dt, steps=steps)
    assert float(explicit.q[:, 0, 1].max()) > 1.0


def test_gradients_through_an_impact() -> None:
    model = RigidModel([BOX])
    params = model.params(torch.float64)
    dt, steps = 1 / 240, 60
    names = ("position", "velocity", "spin", "mass", "friction", "contact_stiffness", "contact_damping", "gravity")

    def run(**values: Tensor) -> Tensor:
        result = simulate(
            model, params.replace(**values), dt=dt, steps=steps, save=[steps], integrator="backward_euler"
        )
        return torch.cat([result.q, 0.1 * result.u], dim=-1)

    result = simulate(model, params, dt=dt, steps=steps, integrator="backward_euler")
    system = model.dynamics(params, Control())
    assert any(float(system.force(q, u).abs().max()) > 0.0 for q, u in zip(result.q, result.u, strict=True))
    check_gradient(run, {name: params[name] for name in names}, tolerance=1e-5, step=1e-5)


def test_a_stack_under_backward_euler() -> None:
    model = RigidModel([{"shape": "box", "position": [0.0, 0.5 + k, 0.0], "mass": 1.0 + k} for k in range(2)])
    params = model.params(torch.float64)
    last = simulate(model, params, dt=1 / 120, steps=60, save=[60], integrator="backward_euler").last
    np.testing.assert_allclose(last.q[:, 1].numpy(), [0.5, 1.5], atol=0.01)
    assert float(last.u.abs().max()) < 1e-2
