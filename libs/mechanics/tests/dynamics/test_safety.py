"""Safety of memory and gradients: no access beyond an array, and no NaN where a motion is finite."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from diffloom import simulate
from diffloom.interfaces import Checkpointed, InputError, SimulationError, State, StoreAll
from diffloom_mechanics import (
    BackwardEuler,
    Mechanics,
    Push,
    SemiImplicitEuler,
    external_force,
    particles,
    pushes,
    springs,
)
from diffloom_mechanics.contact import ground
from diffloom_testing.systems import ToyChain

REAL = torch.float64


def dust(count: int):
    return particles(torch.ones(count, dtype=REAL), torch.zeros(3, dtype=REAL))


def contact(net):
    return {k: v for k, v in net.inputs.items() if k.startswith(("contact", "friction", "ground"))}


@pytest.mark.parametrize("shape", [(1, 2, 3), (0, 64, 3), (1, 64, 2), (64, 3), (1, 65, 3)])
def test_applied_forces_have_a_row_for_each_particle(shape):
    with pytest.raises(InputError, match="expected"):
        Mechanics(dust(64), (external_force(torch.zeros(shape, dtype=REAL)),))


def test_terms_made_for_other_numbers_of_nodes_are_refused(net):
    with pytest.raises(InputError, match=r"got shape \(2, 3\) for 4000 nodes"):
        Mechanics(dust(4000), (ground(contact(net), 2),))
    window = pushes([Push(1, 0.0, 1.0)], torch.zeros(1, 3, dtype=REAL), 2)
    with pytest.raises(InputError, match="made for 2 nodes, but acts on 4000"):
        Mechanics(dust(4000), (window,))


@pytest.mark.parametrize("node", [-1, 2, 2**31, 2**40, 1.5])
def test_pushes_on_nodes_that_do_not_exist(node):
    with pytest.raises(InputError, match="expected"):
        pushes([Push(node, 0.0, 1.0)], torch.zeros(1, 3, dtype=REAL), 2)


def test_springs_have_two_ends():
    one = torch.ones((), dtype=REAL)
    for width in (1, 3):
        with pytest.raises(InputError, match="two ends"):
            springs(np.zeros((4, width), np.int32), one, one, one)


@pytest.mark.parametrize("kind", [torch.complex128, torch.int64, torch.bool, "sparse"])
def test_masses_and_gravity_are_real_numbers(kind):
    masses, gravity = torch.ones(2, dtype=REAL), torch.zeros(3, dtype=REAL)
    odd = [t.to_sparse() if kind == "sparse" else t.to(kind) for t in (masses, gravity)]
    for given in ((odd[0], gravity), (masses, odd[1])):
        with pytest.raises(InputError, match="expected a dense tensor of float32 or float64"):
            particles(*given)


def test_flags_of_fixed_particles_have_the_shape_of_masses():
    for flags in (np.zeros(1, bool), np.zeros((2, 2), bool), np.zeros(3, bool)):
        with pytest.raises(InputError, match="one per particle"):
            particles(torch.ones(2), torch.zeros(3), flags)


@pytest.mark.parametrize("scheme", [SemiImplicitEuler(target="serial"), BackwardEuler()])
@pytest.mark.parametrize("dt", [torch.tensor(0.01), "0.01", float("nan"), -1.0, True, None, 1j])
def test_step_lengths_are_numbers(net, scheme, dt):
    state = State(net.inputs["q"], net.inputs["u"])
    with pytest.raises(InputError, match="positive step length"):
        scheme.rollout(net.system(), state, dt=dt, steps=1, save=(1,), gradient=StoreAll())


@pytest.mark.parametrize("change", [{"steps": 2.5}, {"steps": 2**40}, {"save": (1.5,)}, {"save_every": 0.5}])
def test_steps_are_whole_numbers(change):
    with pytest.raises(InputError, match="whole number"):
        simulate(ToyChain.example(), **{"dt": 0.01, "steps": 2, **change})


def test_integrators_are_integrators():
    with pytest.raises(InputError, match="integrator: got 3; expected a name"):
        simulate(ToyChain.example(), dt=0.01, steps=1, integrator=3)


def test_values_put_into_params_are_checked_when_they_are_used():
    model = ToyChain.example()
    params = model.params(torch.float64)
    name = next(s.name for s in model.specs if s.bounds[0] is not None)
    wrongs = {
        "at least": torch.tensor(-1.0, dtype=REAL), "finite": torch.tensor(float("nan"), dtype=REAL),
        "got shape": torch.zeros((7, 7), dtype=REAL), "where the rest is": torch.tensor(1.0),
    }  # fmt: skip
    for said, wrong in wrongs.items():
        with pytest.raises(InputError, match=said):
            simulate(model, params.replace(**{name: wrong}), dt=1e-3, steps=1)
        with pytest.raises(SimulationError):  # a fit rejects this trial
            simulate(model, params.replace(**{name: wrong}), dt=1e-3, steps=1)
    with pytest.raises(InputError, match="no parameter 'masss'"):
        simulate(model, params.replace(masss=torch.ones((), dtype=REAL)), dt=1e-3, steps=1)


def stiff(net, **given):
    return net.system(stiffness=given.get("stiffness", torch.tensor(1e9, dtype=REAL)), control=net.inputs["control"])


@pytest.mark.parametrize("policy", [StoreAll(), Checkpointed()])
def test_steps_after_the_last_saved_one_do_not_matter(net, policy):
    """The motion blows up long before step 40; the saved states are finite, and so are its gradients."""
    q = net.inputs["q"].clone().requires_grad_(True)
    scheme = SemiImplicitEuler(target="serial")
    saved = scheme.rollout(stiff(net), State(q, net.inputs["u"]), dt=0.05, steps=40, save=(1, 5), gradient=policy)
    saved.q.sum().backward()
    assert torch.isfinite(q.grad).all()
    alone = net.inputs["q"].clone().requires_grad_(True)
    short = scheme.rollout(stiff(net), State(alone, net.inputs["u"]), dt=0.05, steps=5, save=(1, 5), gradient=policy)
    short.q.sum().backward()
    assert torch.equal(q.grad, alone.grad)


@pytest.mark.parametrize("policy", [StoreAll(), Checkpointed(segment=2)])
def test_gradients_that_overflow_name_the_step(net, policy):
    """States stay finite for a while where their derivatives do not."""
    stiffness = torch.tensor(1e60, dtype=REAL, requires_grad=True)
    q = net.inputs["q"].clone().requires_grad_(True)
    scheme = SemiImplicitEuler(target="serial")
    saved = scheme.rollout(
        stiff(net, stiffness=stiffness), State(q, net.inputs["u"]), dt=1.0, steps=4, save=(3,), gradient=policy
    )
    assert torch.isfinite(saved.q).all()
    with pytest.raises(SimulationError, match=r"gradient is not finite from step \d+ .*smaller dt"):
        (saved.q * 1e200).sum().backward()


def test_a_loss_without_a_gradient_is_told_from_a_rollout_without_one(net):
    q = net.inputs["q"].clone().requires_grad_(True)
    scheme, state = SemiImplicitEuler(target="serial"), State(q, net.inputs["u"])
    saved = scheme.rollout(net.system(), state, dt=0.01, steps=4, save=(2, 4), gradient=StoreAll())
    with pytest.raises(SimulationError, match=r"the loss has no finite gradient .* frame 1"):
        (saved.q[1] - saved.q[1].detach()).norm(dim=0).sqrt().sum().backward()
