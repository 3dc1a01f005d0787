"""Parameters declared per step: as a control they do what the constant does, and each step has its gradient."""

from __future__ import annotations

import torch
from torch import Tensor

from diffloom.interfaces import Control, NoGradient
from diffloom.testing.checks import Skip, check, require
from diffloom.testing.comparing import largest_difference, matched_gradients, worst
from diffloom.testing.models.gradients import TOLERANCE, full_value
from diffloom.testing.subjects import ModelSubject


def driven(subject: ModelSubject) -> tuple[str, ...]:
    """Parameters declared ``per_step``; "none" when there are none, so that this is said."""
    return tuple(s.name for s in subject.model.specs if s.per_step) or ("none",)


def rows(subject: ModelSubject, name: str) -> Tensor:
    """The parameter once for every step, entries a little off the default."""
    if name == "none":
        raise Skip("no parameter is declared per_step")
    value = full_value(subject, name, subject.variant_with(name).get(name))
    random = torch.Generator().manual_seed(13)
    return value + 0.01 * torch.rand((subject.steps, *value.shape), generator=random, dtype=torch.float64)


@check("controls", driven)
def constant(subject: ModelSubject, name: str) -> str:
    """A control that is the same in all steps moves the example as the constant parameter does."""
    each = rows(subject, name)
    others = dict(subject.variant_with(name))
    others.pop(name, None)
    fixed = subject.roll(subject.params(**others, **{name: each[0]}), gradient=NoGradient())
    control = Control({name: each[:1].expand_as(each).clone()})
    path = subject.roll(subject.params(**others), gradient=NoGradient(), control=control)
    apart = largest_difference(path.q, fixed.q) / subject.extent
    require(apart <= 1e-9, f"a constant control and the constant differ by {apart:.3g} of the example's size")
    return f"{apart:.1e}"


@check("controls", driven)
def gradient(subject: ModelSubject, name: str) -> str:
    """Every step's control has a gradient that agrees with differences."""
    each = rows(subject, name)
    others = dict(subject.variant_with(name))
    others.pop(name, None)

    def motion(control: Tensor) -> Tensor:
        path = subject.roll(subject.params(**others), control=Control({name: control}))
        # As in the gradient of a parameter: a motion that does not depend on the control still needs a graph.
        return subject.flat(path) + 0.0 * control.sum()

    found = matched_gradients(motion, {"control": each}, tolerance=TOLERANCE)
    if all(c.silent for c in found):
        raise Skip(f"the example's motion does not depend on the control {name!r}, nor does its gradient say so")
    return worst(found)


CHECKS = (constant, gradient)
