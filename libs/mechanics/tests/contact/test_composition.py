"""Models with terms added: names, errors, copies, and what a term is told."""

import copy
import pickle
from dataclasses import dataclass, replace

import pytest
import torch

from diffloom import simulate
from diffloom.interfaces import Control, CustomStep, InputError, Model, ParamSpec, State, Surface
from diffloom_mechanics import (
    ForceTerm,
    Mechanics,
    NodeSet,
    TermContext,
    TorchTerm,
    WithTerms,
    get_step_values,
    get_term,
    particles,
)
from diffloom_mechanics.contact import collect_contact_values
from diffloom_testing.systems import ToyChain


def push(clock, q, u, strength):
    rows = strength if len(strength) == 1 else strength[clock.row : clock.row + 1]
    return rows.expand(len(q), 1) * torch.tensor([1.0, 0.0, 0.0], dtype=q.dtype)


@dataclass(frozen=True)
class Push(ForceTerm):
    """A force along x, which may change from step to step."""

    strength: float = 1.0

    @property
    def specs(self):
        return (ParamSpec("strength", self.strength, "N", "along x", (1,), per_step=True),)

    @classmethod
    def refuses(cls, nodes):
        return None if nodes.name == "particles" else f"a push acts on particles; these nodes are {nodes.name!r}"

    def term(self, name, params, context):
        return TorchTerm(
            name, push, (("strength", get_step_values("strength", params, context.control, (1,))),), context.on
        )


def test_parameters_are_named_after_their_term():
    model = WithTerms(ToyChain(), {"ball": get_term("sphere")(radius=0.3), "floor": get_term("plane")()})
    names = [spec.name for spec in model.specs]
    assert names[: len(ToyChain().specs)] == [spec.name for spec in ToyChain().specs]
    assert {"ball.radius", "ball.position", "floor.normal", "floor.friction"} <= set(names)
    assert model.spec("ball.contact_stiffness").shape == ("ball.nodes",)
    assert model.axes["ball.nodes"] == 3
    params = model.params(torch.float64, **{"ball.radius": 0.4, "stiffness": 30.0})
    assert float(params["ball.radius"]) == 0.4
    assert float(params["stiffness"]) == 30.0
    assert "ball.friction" not in params


def test_a_plain_run_and_one_with_a_term_far_away_are_the_same():
    params = ToyChain().params(torch.float64)
    model = WithTerms(ToyChain(), {"ball": get_term("sphere")(position=(0.0, -50.0, 0.0))})
    alone = simulate(ToyChain(), params, dt=1e-3, steps=20, save=(20,))
    added = simulate(model, model.params(torch.float64), dt=1e-3, steps=20, save=(20,))
    assert torch.equal(alone.q, added.q)


def test_values_per_step_reach_the_term():
    model = WithTerms(ToyChain(), {"wind": Push()})
    params = model.params(torch.float64)
    rows = torch.tensor([[0.0], [5.0], [0.0]], dtype=torch.float64, requires_grad=True)
    blown = simulate(model, params, dt=1e-2, steps=3, control=Control({"wind.strength": rows}))
    blown.q[-1].sum().backward()
    assert (rows.grad[:, 0] > 0.0).tolist() == [True, True, True]
    still = simulate(model, model.params(torch.float64, **{"wind.strength": 0.0}), dt=1e-2, steps=3)
    assert torch.equal(blown.q[1], still.q[1])
    assert float((blown.q[2] - still.q[2]).detach()[:, 0].min()) > 0.0


@pytest.mark.parametrize("by", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_copies_are_the_same_model(by):
    model = WithTerms(ToyChain(), {"ball": get_term("sphere")(radius=0.3)})
    again = by(model)
    assert again.terms == model.terms
    assert [spec.name for spec in again.specs] == [spec.name for spec in model.specs]


@pytest.mark.parametrize(
    ("terms", "words"),
    [
        ({"Ball": Push()}, ["'Ball'", "lower case"]),
        ({"ball": "sphere"}, ["'ball'", "'sphere'", "ForceTerm"]),
        ({"ball": Push}, ["'ball'", "ForceTerm"]),
    ],
)
def test_an_object_that_is_no_term_is_refused(terms, words):
    with pytest.raises(InputError) as error:
        WithTerms(ToyChain(), terms)
    assert all(word in str(error.value) for word in words)


def test_an_unknown_parameter_is_refused_with_the_nearest():
    model = WithTerms(ToyChain(), {"ball": get_term("sphere")()})
    with pytest.raises(InputError, match=r"no parameter 'ball\.radus'; did you mean 'ball\.radius'"):
        model.params(**{"ball.radus": 1.0})
    with pytest.raises(InputError, match=r"'ball\.radius' \[m\]: got -1"):
        model.params(**{"ball.radius": -1.0})


def test_terms_add_up_and_one_name_is_used_once():
    twice = WithTerms(WithTerms(ToyChain(), {"a": Push(1.0)}), {"b": Push(2.0)})
    params = twice.params(torch.float64)
    state = twice.initial_state(params)
    bare = ToyChain().dynamics(ToyChain().params(torch.float64), Control()).force(state.q, state.u)
    added = twice.dynamics(params, Control()).force(state.q, state.u) - bare
    assert torch.allclose(added, torch.tensor([3.0, 0.0, 0.0], dtype=torch.float64))
    with pytest.raises(InputError, match="has a term 'a' already"):
        WithTerms(WithTerms(ToyChain(), {"a": Push()}), {"a": Push()})


class Several(Model):
    """Two sets of one particle each, or other dynamics."""

    def __init__(self, dynamics):
        self.made = dynamics

    @property
    def specs(self):
        return ()

    @property
    def axes(self):
        return {}

    def initial_state(self, params):
        x = torch.zeros(1, 3, dtype=params.dtype)
        return State({"left": x, "right": x}, {"left": x, "right": x})

    def dynamics(self, params, control):
        return self.made(params.dtype)

    def surface(self, trajectory, params):
        return Surface(trajectory["left"].q, torch.zeros((0, 3), dtype=torch.int64))


def two_sets(dtype):
    one = particles(torch.ones(1, dtype=dtype), torch.zeros(3, dtype=dtype))
    return Mechanics({"left": one, "right": one})


def dials(dtype):
    return Mechanics(NodeSet("dials", 1, 1, None, None, (("inertia", torch.ones(1, dtype=dtype)),)))


def test_a_term_names_one_of_several_node_sets():
    with pytest.raises(InputError, match=r"fits the node sets 'left', 'right'.*on=\{'push': 'left'\}"):
        WithTerms(Several(two_sets), {"push": Push()})
    with pytest.raises(InputError, match="no node set 'up'"):
        WithTerms(Several(two_sets), {"push": Push()}, on={"push": "up"})
    model = WithTerms(Several(two_sets), {"push": Push()}, on={"push": "right"})
    path = simulate(model, dt=0.1, steps=2)
    assert float(path["left"].q.abs().max()) == 0.0
    assert float(path["right"].q[-1, 0, 0]) > 0.0


@pytest.mark.parametrize("term", [Push(), get_term("sphere")()])
def test_a_term_that_does_not_fit_says_what_it_fits(term):
    with pytest.raises(InputError, match="does not fit Several: .*particles.*'dials'"):
        WithTerms(Several(dials), {"it": term})


def test_models_with_a_custom_step_take_no_terms():
    with pytest.raises(InputError, match="step of its own"):
        WithTerms(Several(lambda dtype: CustomStep(lambda k, dt, state: state)), {"it": Push()})


def context_of(model, **values):
    params = model.params(torch.float64, **values)
    return TermContext(model, params, model.dynamics(params, Control()).nodes)


def test_contact_is_given_or_the_models_own_or_follows_from_masses():
    context = context_of(ToyChain(), mass=0.5)
    assert context.masses.tolist() == [0.5] * 3
    by_mass = collect_contact_values({}, context)
    assert by_mass["contact_stiffness"].tolist() == [0.5 * 600.0**2] * 3
    given = collect_contact_values({"contact_stiffness": torch.tensor(7.0, dtype=torch.float64)}, context)
    assert given["contact_stiffness"].tolist() == [7.0] * 3
    own = replace(context, params=context.params.replace(friction=torch.tensor(0.9, dtype=torch.float64)))
    assert collect_contact_values({}, own)["friction"].tolist() == [0.9] * 3
