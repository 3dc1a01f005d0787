"""Masses from 1 g to 10 t: the defaults hold bodies up, at the step the model suggests."""

from __future__ import annotations

import pytest
import torch

from diffloom import simulate
from diffloom_physics_rigid.model import RigidModel

SCALES = [(1e-3, 0.01), (0.05, 0.03), (1.0, 0.2), (80.0, 0.5), (1e4, 2.0), (1e-3, 0.3), (1e4, 0.5)]


@pytest.mark.parametrize(("mass", "size"), SCALES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_dropped_box_comes_to_rest_on_the_ground(mass: float, size: float, dtype: torch.dtype) -> None:
    box = {"shape": "box", "scale": size, "mass": mass, "position": [0.0, 2.0 * size, 0.0]}
    model = RigidModel([{**box, "orientation": [0.9, 0.2, 0.1, 0.3], "velocity": [size, 0.0, 0.0]}])
    dt = model.suggested_dt()
    steps = round(25.0 * (size / 9.81) ** 0.5 / dt)
    result = simulate(model, model.params(dtype), dt=dt, steps=steps, save_every=steps // 40)
    height = result.q[:, 0, 1]
    assert float(height.min()) > 0.4 * size
    assert float(height[-1]) == pytest.approx(0.5 * size, rel=0.01)
    assert float(result.u[-1, 0, :3].norm()) < 0.02 * size


def test_the_suggested_step_depends_on_size_and_contact_not_on_mass() -> None:
    def suggestion(**table: float) -> float:
        return RigidModel([{"shape": "box", **table}]).suggested_dt()

    assert suggestion(mass=1e-3) == pytest.approx(suggestion(mass=1e4))
    assert suggestion(scale=0.01) == pytest.approx(0.1 * suggestion(scale=1.0))
    model = RigidModel([{"shape": "box"}, {"shape": "box", "scale": 1e-3, "fixed": True, "position": [0.0, 9.0, 0.0]}])
    assert model.suggested_dt() == pytest.approx(suggestion())
    stiff = model.params(torch.float64, contact_stiffness=1e12)
    assert model.suggested_dt(stiff) < 1e-5


def test_the_suggestion_is_safe_but_not_timid() -> None:
    """Half the inverse of the fastest rate is a quarter of the stable limit: twelve times that throws the box up."""
    box = {"shape": "box", "position": [0.0, 1.0, 0.0], "orientation": [0.99, 0.1, 0.0, 0.05], "restitution": 1.0}
    model = RigidModel([box])
    params = model.params(torch.float64, friction=0.0, friction_stiffness=0.0)
    dt = model.suggested_dt(params)

    def highest(step: float) -> float:
        result = simulate(model, params, dt=step, steps=round(2.0 / step), save_every=5)
        return float(result.q[:, 0, 1].max())

    assert highest(dt) < 1.01
    assert highest(12.0 * dt) > 1.1
