"""The law is chosen by its name, pushes as its formula says, and has exact gradients through a bounce."""

import pytest
import torch
from loom_foam.law import Foam

from diffloom import get_model, simulate
from diffloom.interfaces import Control, InputError
from diffloom_mechanics.contact import rebound, resolve_contact_law
from diffloom_testing import check_gradient


def particle(height: float):
    model = get_model("springs")([[0.0, height, 0.0]], [], contact="foam")
    return model, model.params(torch.float64, mass=0.2, contact_stiffness=100.0, foam_dissipation=0.5)


def test_it_is_chosen_by_name():
    assert resolve_contact_law("foam") == Foam()
    assert particle(1.0)[0].contact == Foam()


def test_what_belongs_to_another_law_is_refused():
    with pytest.raises(InputError, match="contact_dissipation"):
        particle(1.0)[0].params(contact_dissipation=1.0)


@pytest.mark.parametrize("depth", [1e-3, 0.05])
def test_it_pushes_as_its_formula_says(depth):
    model, params = particle(-depth)
    u = torch.tensor([[0.0, -0.4, 0.0]], dtype=torch.float64)
    force = model.dynamics(params, Control()).force(model.initial_state(params).q, u)
    expected = 100.0 * depth * (1.0 + 1e3 * depth**2) * (1.0 + 0.5 * 0.4)
    assert float(force[0, 1]) == pytest.approx(expected, rel=1e-9)


def test_it_bounces_by_the_closed_form():
    model, params = particle(0.0)
    still = {"velocity": torch.tensor([[0.0, -2.0, 0.0]]).double(), "gravity": torch.zeros(3).double()}
    left = simulate(model, params.replace(**still), dt=2e-5, steps=20000, save=(20000,)).u[0, 0, 1]
    assert float(left) / 2.0 == pytest.approx(rebound(0.5, 2.0), rel=1e-3)


def test_gradients_through_a_bounce():
    model, params = particle(0.05)
    names = ("contact_stiffness", "foam_dissipation", "foam_hardening", "friction", "mass")
    moving = params.replace(velocity=torch.tensor([[0.5, -1.0, 0.2]], dtype=torch.float64))

    def end(**given):
        return simulate(model, moving.replace(**given), dt=1e-3, steps=200, save=(200,)).q

    found = check_gradient(end, {name: moving[name] for name in names}, tolerance=1e-6, step=1e-5)
    assert all(abs(each.autograd) > 0.0 for each in found)
