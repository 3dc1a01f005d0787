"""The same input gives the same bits, whatever ran before, and inputs are left alone."""

from __future__ import annotations

import torch
from torch import Tensor

from diffloom.testing.checks import check, require
from diffloom.testing.comparing import same_bits
from diffloom.testing.models.gradients import full_value
from diffloom.testing.subjects import ModelSubject


def motion_and_gradient(subject: ModelSubject, name: str, value: Tensor) -> tuple[Tensor, Tensor]:
    """The example's motion at one value of a parameter, and the gradient of its sum."""
    leaf = value.clone().requires_grad_()
    flat = subject.flat(subject.roll(subject.params(**{**subject.variant_with(name), name: leaf})))
    return flat.detach(), torch.autograd.grad(flat.sum(), leaf)[0]


@check("determinism")
def repeats(subject: ModelSubject) -> None:
    """Two runs in a row give the same motion and the same gradient, bit for bit."""
    name = subject.fit
    value = full_value(subject, name, subject.variant_with(name).get(name))
    first, again = (motion_and_gradient(subject, name, value) for _ in range(2))
    same_bits("two runs of the same motion", first[0], again[0])
    same_bits("gradients of the same motion", first[1], again[1])


@check("determinism")
def remembers_nothing(subject: ModelSubject) -> None:
    """A run with other values in between changes nothing, and a model made anew gives the same bits."""
    name = subject.fit
    value = full_value(subject, name, subject.variant_with(name).get(name))
    first = motion_and_gradient(subject, name, value)
    motion_and_gradient(subject, name, 1.3 * value + 0.01 * (value == 0.0))
    again = motion_and_gradient(subject, name, value)
    same_bits("runs before and after another one", first[0], again[0])
    same_bits("gradients before and after another run", first[1], again[1])
    fresh = subject.answer(subject.params(**{**subject.variant_with(name), name: value}), model=subject.make())
    same_bits("runs of the model and of one made anew", first[0], fresh)


@check("determinism")
def leaves_inputs_alone(subject: ModelSubject) -> None:
    """Parameters and states that go in come out unchanged."""
    params = subject.params()
    before = {name: value.clone() for name, value in params.items()}
    state = subject.model.initial_state(params)
    q, u = state.q.clone(), state.u.clone()
    path = subject.roll(params, state=state)
    subject.model.surface(path, params)
    changed = [name for name, value in params.items() if not torch.equal(value, before[name])]
    require(not changed, f"a run changes the parameters {changed} in place")
    same_bits("the state before and after a run", q, state.q)
    same_bits("the velocities before and after a run", u, state.u)


CHECKS = (repeats, remembers_nothing, leaves_inputs_alone)
