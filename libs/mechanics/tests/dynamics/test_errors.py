"""Messages to the user when something is wrong."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from diffloom.fixed_order import broadcast
from diffloom.interfaces import CustomStep, InputError, NoGradient, SimulationError, State, StoreAll
from diffloom_mechanics import (
    BackwardEuler,
    CustomStepping,
    ElementTerm,
    Mechanics,
    Push,
    SemiImplicitEuler,
    TorchTerm,
    particles,
    pushes,
)


def run(system, net, dt=1 / 240, steps=40, save=(40,), scheme=None):
    scheme = scheme or SemiImplicitEuler(target="serial")
    state = State(net.inputs["q"], net.inputs["u"])
    return scheme.rollout(system, state, dt=dt, steps=steps, save=save, gradient=NoGradient())


def test_a_blow_up_names_step_node_and_remedy(net):
    stiff = net.system(stiffness=torch.tensor(1e9, dtype=torch.float64), control=net.inputs["control"][:1])
    with pytest.raises(
        SimulationError, match=r"blew up in step \d+ .*node \d+ .*springs \d+.*smaller dt.*backward_euler"
    ):
        run(stiff, net, dt=0.05, steps=400, save=(400,))


def test_backward_euler_says_where_it_failed(net):
    def rough(clock, q, u):
        return 1e6 * torch.sign(torch.sin(1e5 * q))

    with pytest.raises(SimulationError, match=r"did not converge in step 1 .*smaller dt"):
        run(net.system(extra=(TorchTerm("rough", rough),)), net, steps=2, save=(2,), scheme=BackwardEuler(iterations=2))


def test_wrong_integrator_is_refused(net):
    own = CustomStep(lambda k, dt, state: state)
    for scheme in (SemiImplicitEuler(), BackwardEuler()):
        assert "custom_step" in str(scheme.refuses(own))
    assert "mechanics" in str(CustomStepping().refuses(net.system()))


@pytest.mark.parametrize(
    "change, said",
    [
        ({"dt": 0.0}, "positive step length"),
        ({"steps": -1, "save": ()}, "0 or more"),
        ({"save": (5, 3)}, "increasing"),
        ({"save": (41,)}, "between 0 and 40"),
    ],
)
def test_bad_schedules(net, change, said):
    with pytest.raises(InputError, match=said):
        run(net.system(), net, **change)


def test_bad_states(net):
    scheme, system = SemiImplicitEuler(target="serial"), net.system()
    q, u = net.inputs["q"], net.inputs["u"]
    common = {"dt": 0.01, "steps": 1, "save": (1,), "gradient": StoreAll()}
    with pytest.raises(InputError, match=r"expected \(13, 3\)"):
        scheme.rollout(system, State(q[:5], u[:5]), **common)
    with pytest.raises(InputError, match="float32 but the parameters are torch.float64"):
        scheme.rollout(system, State(q.float(), u.float()), **common)
    bad = q.clone()
    bad[2, 1] = float("nan")
    with pytest.raises(InputError, match=r"index \(2, 1\) is nan"):
        scheme.rollout(system, State(bad, u), **common)


@pytest.mark.parametrize("scheme", [SemiImplicitEuler(target="serial"), BackwardEuler()])
def test_controls_must_reach_to_the_end(net, scheme):
    """One row a step or one for all; anything between would be read beyond its end."""
    short = net.system(control=net.inputs["control"][:7])
    with pytest.raises(
        InputError, match=r"'external_force', 'force': got values for 7 steps in a rollout of 40.*one for all"
    ):
        run(short, net, scheme=scheme)
    run(net.system(control=net.inputs["control"][:1]), net, steps=2, save=(2,), scheme=scheme)
    run(short, net, steps=7, save=(7,), scheme=scheme)


def test_elements_controls_must_reach_to_the_end(net):
    system = net.system()
    activation = ("activation", torch.zeros(7, 1, dtype=torch.float64))
    pair = np.array([[0, 1]], np.int32)
    stretch = ElementTerm("muscles", pair, None, None, params=(activation,), per_step=("activation",))
    with pytest.raises(InputError, match=r"'muscles', 'activation': got values for 7 steps in a rollout of 40"):
        run(Mechanics(system.nodes, (*system.terms, stretch)), net)


def test_bad_terms(net):
    system = net.system()
    with pytest.raises(InputError, match="two terms are called 'springs'"):
        Mechanics(system.nodes, (system.terms[0], system.terms[0]))
    with pytest.raises(InputError, match="int32"):
        ElementTerm("t", np.zeros((3, 2), np.int64), None, None)
    with pytest.raises(InputError, match="broadcast"):
        ElementTerm("t", np.zeros((3, 2), np.int32), None, None, params=(("k", torch.zeros(2)),))
    stray = Mechanics(system.nodes, (ElementTerm("t", np.array([[0, 13]], np.int32), None, None),))
    with pytest.raises(InputError, match="0 to 12"):
        stray.force(net.inputs["q"], net.inputs["u"])
    with pytest.raises(InputError, match="one dtype"):
        Mechanics(particles(torch.ones(2), torch.zeros(3)), (pushes([Push(0, 0, 1)], torch.zeros(1, 3).double(), 2),))
    with pytest.raises(InputError, match="end after the start"):
        Push(0, 1.0, 1.0)
    with pytest.raises(InputError, match="masses of 0"):
        particles(torch.tensor([-1.0]), torch.zeros(3))
    with pytest.raises(InputError, match="got nan kg"):
        particles(torch.tensor([1.0, float("nan")]), torch.zeros(3))
    with pytest.raises(InputError, match="cannot expand"):
        broadcast(torch.zeros(2), (3,))
