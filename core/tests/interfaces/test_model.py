"""Defaults of the base classes."""

import pytest
import torch

from diffloom import simulate
from diffloom.interfaces import CustomStep, ExampleSettings, InputError, Model, State
from diffloom_mechanics import WithTerms
from diffloom_testing.subjects import model_subject
from diffloom_testing.systems import ToyChain


class Stepping(Model):
    """One number that halves each step; it names the integrator that runs it."""

    default_integrator = "custom_step"
    specs = ()
    axes = {}  # noqa: RUF012

    def initial_state(self, params):
        return State(torch.ones((1, 1)), torch.zeros((1, 1)))

    def dynamics(self, params, control):
        return CustomStep(lambda k, dt, state: State(0.5 * state.q, state.u, state.time + dt))

    def surface(self, trajectory, params):
        raise NotImplementedError


class Unnamed(Stepping):
    default_integrator = Model.default_integrator


def test_a_model_runs_with_the_integrator_it_names():
    assert simulate(Stepping(), dt=0.1, steps=3).q[-1].item() == 0.125
    assert simulate(Unnamed(), dt=0.1, steps=3, integrator="custom_step").q[-1].item() == 0.125


def test_the_wrong_integrator_is_refused_with_the_one_to_set():
    for model in (Stepping(), Unnamed()):
        with pytest.raises(InputError, match=r"; set integrator = 'custom_step'$"):
            simulate(model, dt=0.1, steps=3, integrator="semi_implicit")
    with pytest.raises(InputError, match=r"; set integrator = 'custom_step'$"):
        simulate(Unnamed(), dt=0.1, steps=3)
    with pytest.raises(InputError, match=r"; set integrator = 'semi_implicit' \(or one of backward_euler, .*leapfrog"):
        simulate(ToyChain(), dt=0.1, steps=3, integrator="custom_step")


def test_a_model_without_an_example_says_what_to_write():
    with pytest.raises(NotImplementedError, match="Stepping offers no example; define example"):
        Stepping.example()
    with pytest.raises(TypeError, match=r"Stepping: a model is checked on its example: .*ExampleSettings\(dt="):
        model_subject(Stepping)


def test_settings_of_another_form_are_refused():
    settings = ExampleSettings(0.01, 5, "mass")
    assert ExampleSettings.of("New", settings) is settings
    with pytest.raises(TypeError, match=r"^Old: a model is checked on its example: .*ExampleSettings\(dt="):
        ExampleSettings.of("Old", {"dt": 0.01, "steps": 5, "fit": "mass"})
    with pytest.raises(TypeError, match="New: example_settings has speed; it may have dt, steps, fit"):
        settings.replace_fields("New", {"speed": 3})


def test_nothing_is_derived_unless_a_model_says_so():
    model = ToyChain()
    assert model.derived(model.params()) == {}


class Weighed(ToyChain):
    """Says what its masses are, and which integrator runs it."""

    default_integrator = "leapfrog"

    def derived(self, params):
        return {"mass": params["mass"].expand(3)}


def test_a_model_with_terms_derives_and_runs_as_the_model_does():
    composed = WithTerms(Weighed(), {})
    assert composed.default_integrator == "leapfrog"
    assert torch.equal(composed.derived(composed.params(mass=0.3))["mass"], torch.full((3,), 0.3))
