"""What a user may get wrong is refused at the door, with InputError."""

from __future__ import annotations

import math

import torch

from diffloom.testing.checks import Skip, check
from diffloom.testing.models.declarations import parameters
from diffloom.testing.refusals import refused
from diffloom.testing.subjects import ModelSubject


def bounded(subject: ModelSubject) -> tuple[str, ...]:
    """Parameters with a bound."""
    return tuple(s.name for s in subject.model.specs if s.bounds != (None, None))


@check("bad_input")
def unknown_parameter(subject: ModelSubject) -> None:
    """A parameter that is not declared is refused by its name."""
    refused("a parameter called no_such_thing", lambda: subject.params(no_such_thing=1.0), "no_such_thing")


@check("bad_input", parameters)
def not_a_number(subject: ModelSubject, name: str) -> None:
    """NaN and infinity are refused by the parameter's name."""
    for value in (math.nan, math.inf):
        refused(f"{name} = {value}", lambda value=value: subject.params(**{name: value}), name)  # type: ignore[misc]


@check("bad_input", parameters)
def wrong_shape(subject: ModelSubject, name: str) -> None:
    """A value that does not broadcast to the declared shape is refused."""
    full = subject.spec(name).full_shape(subject.model.axes)
    value = torch.ones((2, *full, 3), dtype=torch.float64)
    refused(f"{name} of shape {tuple(value.shape)}", lambda: subject.params(**{name: value}), name)


@check("bad_input", bounded)
def out_of_bounds(subject: ModelSubject, name: str) -> None:
    """A value beyond a declared bound is refused."""
    low, high = subject.spec(name).bounds
    for bound, beyond in ((low, -1.0), (high, 1.0)):
        if bound is not None:
            value = bound + beyond
            refused(f"{name} = {value:g}", lambda value=value: subject.params(**{name: value}), name)  # type: ignore[misc]


@check("bad_input")
def mixed_precision(subject: ModelSubject) -> None:
    """A float32 tensor among float64 parameters is refused, not converted silently."""
    given = next((s for s in subject.model.specs if s.default is not None), None)
    if given is None:
        raise Skip("the model has no parameter with a default")
    value = torch.as_tensor(given.default).float()
    refused(f"{given.name} of float32", lambda: subject.params(**{given.name: value}), given.name)


CHECKS = (unknown_parameter, not_a_number, wrong_shape, out_of_bounds, mixed_precision)
