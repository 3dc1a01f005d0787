"""Memory policies, saved frames, and what happens when inputs change between forward and backward."""

from __future__ import annotations

import pytest
import torch

from diffloom.interfaces import Checkpointed, InputError, NoGradient, State, StoreAll
from diffloom_mechanics import SemiImplicitEuler
from diffloom_mechanics.rollout import plan_leaps, segment_length


def run(net, leaves, save=(0, 40), gradient=None, steps=40):
    system = net.system(**{k: v for k, v in leaves.items() if k not in ("q", "u")})
    state = State(leaves.get("q", net.inputs["q"]), leaves.get("u", net.inputs["u"]))
    return SemiImplicitEuler(target="serial").rollout(
        system, state, dt=1 / 240, steps=steps, save=save, gradient=gradient or StoreAll()
    )


def test_frames_do_not_change_the_motion(net):
    few, all_of_them = run(net, {}, save=(7, 40)), run(net, {}, save=tuple(range(41)))
    assert torch.equal(few.q, all_of_them.q[[7, 40]])
    assert torch.equal(few.times, all_of_them.times[[7, 40]])
    assert float(few.times[0]) == pytest.approx(7 / 240)


def test_no_gradient_keeps_nothing(net):
    leaf = net.inputs["stiffness"].clone().requires_grad_()
    path = run(net, {"stiffness": leaf}, gradient=NoGradient())
    assert not path.q.requires_grad
    assert torch.equal(path.q, run(net, {"stiffness": leaf}).q)


def test_unsaved_states_are_not_kept(net):
    save = (0, 150, 151, 240)
    assert plan_leaps(240, save, 64) == [(0, 150), (150, 64), (214, 26)]
    assert plan_leaps(240, (), 64) == [(0, 240)]
    assert sum(count for _, count in plan_leaps(1000, tuple(range(0, 1000, 7)), 64)) == 1000
    leaves = {"control": torch.cat([net.inputs["control"]] * 6), "u": net.inputs["u"].clone().requires_grad_()}
    leapt = run(net, leaves, save=save, gradient=NoGradient(), steps=240)
    kept = run(net, leaves, save=save, steps=240)
    assert torch.equal(leapt.q, kept.q) and torch.equal(leapt.u, kept.u)


def test_backward_twice_gives_the_same(net):
    leaf = net.inputs["stiffness"].clone().requires_grad_()
    loss = (run(net, {"stiffness": leaf}).q ** 2).sum()
    first = torch.autograd.grad(loss, leaf, retain_graph=True)[0]
    assert torch.equal(first, torch.autograd.grad(loss, leaf)[0])
    with pytest.raises(RuntimeError, match="second time"):
        torch.autograd.grad(loss, leaf)


@pytest.mark.parametrize("name", ["q", "stiffness", "mass", "push", "control"])
def test_changing_an_input_in_place_is_harmless_or_refused(net, name):
    def gradient(disturb: bool):
        leaf = net.inputs[name].clone().requires_grad_()
        own = leaf * 1.0
        path = run(net, {name: own})
        if disturb:
            own.detach().mul_(3.0)
        return torch.autograd.grad((path.q**2).sum(), leaf)[0]

    expected = gradient(False)
    try:
        found = gradient(True)
    except RuntimeError as error:
        found, refusal = None, str(error)
    if found is None:
        assert "modified by an inplace operation" in refusal
    else:
        assert torch.equal(found, expected)


def test_results_may_be_changed_in_place(net):
    leaf = net.inputs["stiffness"].clone().requires_grad_()
    path = run(net, {"stiffness": leaf})
    loss = (path.q**2).sum()
    expected = torch.autograd.grad(loss, leaf, retain_graph=True)[0]
    path.u.detach().zero_()
    assert torch.equal(torch.autograd.grad(loss, leaf)[0], expected)


def test_segments_fit_the_memory():
    assert segment_length(StoreAll(), 1000, 100) == 1000
    assert segment_length(Checkpointed(), 10_000, 1) == 100
    assert segment_length(Checkpointed(segment=7), 1000, 1) == 7
    for states in (250, 400, 900):
        length = segment_length(Checkpointed(memory=states * 72), 10_000, 72)
        assert length + 1 + -(-10_000 // length) <= states
    assert segment_length(Checkpointed(memory=72), 10_000, 72) == 100


@pytest.mark.parametrize(
    "wrong, said",
    [({"segment": 0}, "expected 1 or more"), ({"memory": 0}, "number of bytes"), ({"segment": 1, "memory": 1}, "both")],
)
def test_bad_policies_are_refused(wrong, said):
    with pytest.raises(InputError, match=said):
        Checkpointed(**wrong)
