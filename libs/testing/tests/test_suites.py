"""The suites on the core's own: the toy model passes all, and every way to name a subject works."""

from typing import ClassVar

import pytest
import torch

from diffloom.interfaces import CustomStep, ExampleSettings, Model, ParamSpec, State, Surface
from diffloom_testing import check_integrator, check_model
from diffloom_testing.parametrize import find_subject
from diffloom_testing.subjects import model_subject
from diffloom_testing.suites import list_checks
from diffloom_testing.systems import ToyChain


@pytest.fixture(autouse=True)
def _hermetic(hermetic_registry):
    """Registry with the integrators of diffloom-mechanics alone."""


def test_the_toy_model_passes_everything():
    report = check_model(ToyChain)
    assert set(report.skipped_families) == {"impacts", "memory"}, "it claims no contact and has no memory"
    families = {result.family for result in report.results}
    assert families == {
        "declarations", "bad_input", "rest", "invariance", "gradients", "controls", "dot_product", "determinism",
        "precision", "integrators", "surface", "copying", "impacts", "adjoints", "memory",
    }  # fmt: skip
    assert len(report.results) > 50


def test_a_model_itself_can_be_checked_with_settings_of_its_own():
    report = check_model(ToyChain(radius=0.2), settings={"steps": 4}, families=["gradients", "rest"])
    assert {result.family for result in report.results} == {"gradients", "rest"}


def test_missing_settings_are_skipped_with_a_reason():
    class Silent(ToyChain):
        example_settings = ExampleSettings(dt=1e-2, steps=4, fit="mass")

    report = check_model(Silent, families=["rest", "invariance"])
    assert set(report.skipped_families) == {"rest", "invariance"}
    assert "example_settings.rest is None" in report.skipped_families["rest"]
    assert "does not claim" in report.skipped_families["invariance"]


class Pendulum(Model):
    """A system of another kind: one angle, a step of its own, a bar to look at."""

    example_settings = ExampleSettings(dt=0.02, steps=20, fit="length", rest={"angle": 0.0})

    @classmethod
    def example(cls):
        return cls()

    @property
    def specs(self):
        return (
            ParamSpec("length", 1.0, "m", "of the bar", bounds=(0.1, None)),
            ParamSpec("angle", 0.7, "rad", "from hanging down, at the start"),
            ParamSpec("gravity", 9.81, "m/s^2", "acceleration of free fall"),
        )

    @property
    def axes(self):
        return {}

    def initial_state(self, params):
        q = params["angle"].reshape(1, 1)
        return State(q, torch.zeros_like(q))

    def dynamics(self, params, control):
        def step(k, dt, state):
            u = state.u - dt * params["gravity"] / params["length"] * state.q.sin()
            return State(state.q + dt * u, u, state.time + dt)

        return CustomStep(step, tuple(params.values()))

    def surface(self, trajectory, params):
        angle = trajectory.q[:, 0, 0]
        end = params["length"] * torch.stack([angle.sin(), -angle.cos(), torch.zeros_like(angle)], dim=1)
        side = torch.tensor([0.0, 0.0, 0.1], dtype=end.dtype).expand_as(end)
        return Surface(torch.stack([side, -side, end], dim=1), torch.tensor([[0, 1, 2]]))


def test_a_system_of_another_kind_is_checked_too():
    report = check_model(Pendulum)
    assert set(report.skipped_families) == {"invariance", "controls", "impacts", "adjoints", "memory"}
    notes = {result.check: result.outcome for result in report.results}
    assert notes["integrators.runs[custom_step]"] == "passed"
    assert notes["integrators.runs[semi_implicit]"] == "skipped"


def test_a_class_admits_its_own_limits():
    class Limited(ToyChain):
        expected_failures: ClassVar = {"surface.outward": "it is wound inwards, as a joke"}

        def surface(self, trajectory, params):
            found = super().surface(trajectory, params)
            return type(found)(found.vertices, found.faces.flip(1))

    report = check_model(Limited, families=["surface"])
    assert "1 failed as expected" in report.summary
    check_model(Limited, families=["rest"])


def test_mistakes_in_the_call_are_explained():
    class Bare(ToyChain):
        example_settings: ClassVar = None

    with pytest.raises(TypeError, match=r"give the class example\(\) -> Model and example_settings"):
        check_model(Bare)
    with pytest.raises(TypeError, match="example_settings has speed; it may have dt"):
        check_model(ToyChain, settings={"speed": 3})
    with pytest.raises(ValueError, match="nothing is no family of model checks; expected declarations"):
        check_model(ToyChain, families=["nothing"])
    with pytest.raises(ValueError, match="no check has this name"):
        check_model(ToyChain, expected_failures={"rest.flies": "because"})
    with pytest.raises(TypeError, match="is neither the name of a model"):
        find_subject(3)


def test_an_integrator_by_name_class_or_instance():
    from diffloom_mechanics import CustomStepping

    for given in ("custom_step", CustomStepping, CustomStepping()):
        assert check_integrator(given, families=["interface", "schedule"]).count("failed") == 0
    assert find_subject("integrator custom_step").kind == "integrator"


def test_cases_are_items_of_their_own():
    names = [item.name for item in list_checks(model_subject(ToyChain), ["gradients"])]
    assert names[0] == "gradients.start"
    assert "gradients.parameter[stiffness]" in names
    assert len(names) == 1 + len(ToyChain().specs)
