"""Checks of gradients by parameters and controls, and the dot-product test of the adjoint."""

from __future__ import annotations

import torch
from torch import Tensor

from diffloom.interfaces import Control, NoGradient
from diffloom_testing.comparisons import (
    describe_worst,
    flatten_coordinates,
    flatten_state,
    flatten_velocities,
    largest_difference,
    require_matching_gradients,
    unflatten_state,
)
from diffloom_testing.models.interface import parameters
from diffloom_testing.results import Skip, check, require
from diffloom_testing.subjects import ModelSubject

TOLERANCE = 1e-5


def full_value(subject: ModelSubject, name: str, given: object = None) -> Tensor:
    """Return a value of the parameter's full shape, away from its bounds, so that each entry has a gradient of its
    own.
    """
    spec = subject.spec(name)
    source = subject.settings.values.get(name, spec.default) if given is None else given
    if isinstance(source, Tensor):
        source = source.double()
    value = spec.check(source, subject.model.axes, torch.float64).detach()
    value = value.expand(spec.full_shape(subject.model.axes)).clone()
    low, high = spec.bounds
    value = torch.where(value == low, value + 0.1, value) if low is not None else value
    return torch.where(value == high, value - 0.1 * abs(value), value) if high is not None else value


@check("gradients", parameters)
def parameter(subject: ModelSubject, name: str) -> str:
    """The gradient of the example's motion by each entry of a parameter agrees with differences."""
    if not subject.spec(name).differentiable:
        raise Skip(f"{name!r} is declared not to be differentiable")
    others = dict(subject.variant_with(name))
    value = full_value(subject, name, others.pop(name, None))
    if not value.numel():
        raise Skip(f"{name!r} has no entries in the example")

    def motion(**given: Tensor) -> Tensor:
        path = subject.roll(subject.params(**others, **given))
        # A motion that does not depend on the parameter has no graph; zero times an input gives it one.
        return flatten_state(path) + 0.0 * given[name].sum()

    found = require_matching_gradients(motion, {name: value}, tolerance=TOLERANCE)
    if all(c.silent for c in found):
        require(name != subject.fit, f"the example does not depend on {name!r}, which example_settings.fit names")
        raise Skip(f"the example's motion does not depend on {name!r}: gradient and differences are zero")
    return describe_worst(found)


@check("gradients")
def start(subject: ModelSubject) -> str:
    """The initial state's gradient by all parameters at once agrees with differences."""
    names = [s.name for s in subject.model.specs if s.default is not None and s.differentiable]
    values = {name: full_value(subject, name) for name in names}

    def state(**given: Tensor) -> Tensor:
        found = subject.model.initial_state(subject.params(**given))
        # A state that no parameter sets has no graph; zero times an input gives it one.
        return flatten_state(found) + 0.0 * sum(v.sum() for v in given.values())

    inputs = {n: v for n, v in values.items() if v.numel()}
    return describe_worst(require_matching_gradients(state, inputs, tolerance=1e-6, directions=1))


def controlled_parameters(subject: ModelSubject) -> tuple[str, ...]:
    """Return the parameters declared ``per_step``; "none" if there are none, so that the report mentions it."""
    return tuple(s.name for s in subject.model.specs if s.per_step) or ("none",)


def rows(subject: ModelSubject, name: str) -> Tensor:
    """Return the parameter for every step, with entries a little off the default."""
    if name == "none":
        raise Skip("no parameter is declared per_step")
    value = full_value(subject, name, subject.variant_with(name).get(name))
    random = torch.Generator().manual_seed(13)
    return value + 0.01 * torch.rand((subject.steps, *value.shape), generator=random, dtype=torch.float64)


@check("controls", controlled_parameters)
def constant(subject: ModelSubject, name: str) -> str:
    """A control that is constant over the steps moves the example as the constant parameter does."""
    each = rows(subject, name)
    others = dict(subject.variant_with(name))
    others.pop(name, None)
    fixed = subject.roll(subject.params(**others, **{name: each[0]}), gradient=NoGradient())
    control = Control({name: each[:1].expand_as(each).clone()})
    path = subject.roll(subject.params(**others), gradient=NoGradient(), control=control)
    apart = largest_difference(flatten_coordinates(path), flatten_coordinates(fixed)) / subject.extent
    require(apart <= 1e-9, f"a constant control and the constant differ by {apart:.3g} of the example's size")
    return f"{apart:.1e}"


@check("controls", controlled_parameters)
def gradient(subject: ModelSubject, name: str) -> str:
    """Every step's control has a gradient that agrees with differences."""
    each = rows(subject, name)
    others = dict(subject.variant_with(name))
    others.pop(name, None)

    def motion(control: Tensor) -> Tensor:
        path = subject.roll(subject.params(**others), control=Control({name: control}))
        # As in the gradient of a parameter: a motion that does not depend on the control still needs a graph.
        return flatten_state(path) + 0.0 * control.sum()

    found = require_matching_gradients(motion, {"control": each}, tolerance=TOLERANCE)
    if all(c.silent for c in found):
        raise Skip(f"the example's motion does not depend on the control {name!r}: gradient and differences are zero")
    return describe_worst(found)


PARTS = ("one step", "whole motion")


def parts(subject: ModelSubject) -> tuple[str, ...]:
    """Return one step, in which a wrong adjoint has its full effect, and all steps."""
    return PARTS


@check("dot_product", parts)
def state(subject: ModelSubject, part: str) -> str:
    """<J a, b> by differences equals <a, J^T b> by the adjoint, for random a, b and the Jacobian J by the start."""
    params, steps = subject.params(), 1 if part == PARTS[0] else subject.steps
    begin = subject.model.initial_state(params)

    def motion(q: Tensor, u: Tensor) -> Tensor:
        return flatten_state(subject.roll(params, state=unflatten_state(begin, q, u), steps=steps, save=(steps,)))

    inputs = {"q": flatten_coordinates(begin), "u": flatten_velocities(begin)}
    return describe_worst(require_matching_gradients(motion, inputs, tolerance=TOLERANCE))


@check("dot_product")
def linear(subject: ModelSubject) -> str:
    """J^T (b + c) = J^T b + J^T c, and a second backward pass gives the same bits: it changes no stored value."""
    name = subject.fit
    value = full_value(subject, name, subject.variant_with(name).get(name)).requires_grad_()
    flat = flatten_state(subject.roll(subject.params(**{**subject.variant_with(name), name: value})))
    random = torch.Generator().manual_seed(17)
    b, c = (torch.randn(flat.shape, generator=random, dtype=torch.float64) for _ in range(2))
    pulled = [torch.autograd.grad(flat, value, w, retain_graph=True)[0] for w in (b, c, b + c, b)]
    size = float(max(g.abs().max() for g in pulled))
    if not size:
        raise Skip(f"nothing was compared: the gradient by {name!r} is zero")
    off = float((pulled[0] + pulled[1] - pulled[2]).abs().max()) / size
    require(off <= 1e-10, f"J^T (b + c) and J^T b + J^T c differ by {off:.3g}, relative; allowed 1e-10")
    require(torch.equal(pulled[0], pulled[3]), "a second backward pass over the same motion gives another gradient")
    return f"{off:.1e}"


CHECKS = (start, parameter, constant, gradient, state, linear)
