"""Steps that models suggest for explicit schemes."""

import math

import pytest
import torch

from diffloom import simulate
from diffloom.interfaces import SimulationError
from diffloom.plugins import get_model
from diffloom_mechanics import WithTerms, get_term


def spring(stiffness, **options):
    model = get_model("springs")([[0.0, 1.0, 0.0], [1.0, 1.0, 0.0]], [[0, 1]], fixed=[0], on_ground=False)
    return model, model.params(torch.float64, mass=0.5, stiffness=stiffness, damping=0.0, **options)


def test_half_of_the_stable_step_of_one_spring():
    model, params = spring(200.0)
    assert model.suggested_dt(params) == pytest.approx(1.0 / math.sqrt(200.0 / 0.5), rel=1e-3)


@pytest.mark.parametrize("name", ["fem", "cloth"])
def test_the_suggested_step_is_stable_and_four_times_as_long_a_step_is_not(name):
    made = get_model(name)
    model = made("box", cells=[2, 2, 2], ground=False) if name == "fem" else made(made.example().sheet)
    params = model.params(torch.float64, shear_modulus=1e5, lame_modulus=1e5, damping=0.0)
    dt = model.suggested_dt(params)
    assert torch.isfinite(simulate(model, params, dt=dt, steps=200).q).all()
    with pytest.raises(SimulationError):
        simulate(model, params, dt=4.0 * dt, steps=400)


def test_stiff_contact_with_the_ground_shortens_the_step():
    model = get_model("fem").example()
    soft, stiff = (model.params(torch.float64, contact_stiffness=k) for k in (1e2, 1e8))
    assert model.suggested_dt(stiff) < 0.2 * model.suggested_dt(soft)


def test_a_joint_spring_of_a_tree_counts():
    model = get_model("articulated")([{"builder": "chain", "count": 2}])
    free, sprung = (model.params(torch.float64, stiffness=k) for k in (0.0, 1e5))
    assert model.suggested_dt(sprung) < 0.1 * model.suggested_dt(free)


def test_a_model_with_an_obstacle_keeps_the_step_of_the_model():
    inner = get_model("rigid")([{"shape": "sphere", "radius": 0.1}])
    model = WithTerms(inner, {"ball": get_term("sphere")(radius=0.3)})
    above = model.params(torch.float64, position=(0.0, 2.0, 0.0))
    assert model.suggested_dt(above) == pytest.approx(inner.suggested_dt(inner.params(position=(0.0, 2.0, 0.0))))
