"""The gradient of every declared parameter, by the whole rollout, against differences in float64."""

from __future__ import annotations

import torch
from torch import Tensor

from diffloom.testing.checks import Skip, check, require
from diffloom.testing.comparing import matched_gradients, worst
from diffloom.testing.models.declarations import parameters
from diffloom.testing.subjects import ModelSubject

TOLERANCE = 1e-5


def full_value(subject: ModelSubject, name: str, given: object = None) -> Tensor:
    """A value of the parameter's full shape, off its bounds, so that each entry's own gradient is seen."""
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
    """The gradient of the example's motion by one parameter, entry by entry, agrees with differences."""
    if not subject.spec(name).differentiable:
        raise Skip(f"{name!r} is declared not to be differentiable")
    others = dict(subject.variant_with(name))
    value = full_value(subject, name, others.pop(name, None))
    if not value.numel():
        raise Skip(f"{name!r} has no entries in the example")

    def motion(**given: Tensor) -> Tensor:
        path = subject.roll(subject.params(**others, **given))
        # A motion that does not depend on the parameter has no graph; zero times an input gives it one.
        return subject.flat(path) + 0.0 * given[name].sum()

    found = matched_gradients(motion, {name: value}, tolerance=TOLERANCE)
    if all(c.silent for c in found):
        require(name != subject.fit, f"the example does not depend on {name!r}, which example_settings.fit names")
        raise Skip(f"the example's motion does not depend on {name!r}, nor does its gradient say so")
    return worst(found)


@check("gradients")
def start(subject: ModelSubject) -> str:
    """The initial state's gradient by all parameters at once agrees with differences."""
    names = [s.name for s in subject.model.specs if s.default is not None and s.differentiable]
    values = {name: full_value(subject, name) for name in names}

    def state(**given: Tensor) -> Tensor:
        found = subject.model.initial_state(subject.params(**given))
        together = torch.cat([found.q.reshape(-1), found.u.reshape(-1)])
        # A state that no parameter sets has no graph; zero times an input gives it one.
        return together + 0.0 * sum(v.sum() for v in given.values())

    return worst(matched_gradients(state, {n: v for n, v in values.items() if v.numel()}, tolerance=1e-6, directions=1))


CHECKS = (start, parameter)
