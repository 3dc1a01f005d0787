"""Checks of internal variables: their declarations, their place in trajectories, and gradients through them."""

from __future__ import annotations

import torch
from torch import Tensor

from diffloom.interfaces import NoGradient, State, complete_memory
from diffloom_testing.comparisons import (
    describe_worst,
    flatten_state,
    require_finite,
    require_matching_gradients,
)
from diffloom_testing.models.interface import is_lower_case, require_unit
from diffloom_testing.results import Skip, check, require
from diffloom_testing.subjects import ModelSubject

TOLERANCE = 1e-5


def variables(subject: ModelSubject) -> tuple[str, ...]:
    """Return the names of all internal variables; "none" if there are none, so that the report mentions it."""
    return tuple(spec.name for spec in subject.model.memory) or ("none",)


def skip_without(name: str) -> None:
    """Raise Skip where the model has no internal variables."""
    if name == "none":
        raise Skip("the model declares no internal variables")


def begin(subject: ModelSubject) -> State:
    """Return the initial state of the example with all internal variables."""
    model = subject.model
    return complete_memory(model.initial_state(subject.params()), model.memory, model.axes)


@check("memory", variables)
def declared(subject: ModelSubject, name: str) -> None:
    """A variable has a lower-case name, a unit, a meaning, an axis of the model and a finite start."""
    skip_without(name)
    specs, again = subject.model.memory, subject.model.memory
    require([s.name for s in specs] == [s.name for s in again], "memory changes its order between two calls")
    require([s.name for s in specs].count(name) == 1, f"two internal variables are called {name!r}")
    spec = next(s for s in specs if s.name == name)
    require(is_lower_case(name), f"{name!r}: use lower-case words of Python, joined by _; a dot sets off a part")
    require_unit(spec)
    axes = subject.model.axes
    require(spec.axis in axes, f"{name!r} has the axis {spec.axis!r}, which is not among the model's {sorted(axes)}")
    require_finite(f"the start of {name!r}", begin(subject).memory[name])


@check("memory", variables)
def saved(subject: ModelSubject, name: str) -> None:
    """A trajectory holds the variable for each frame, in the precision of the parameters, and nothing undeclared."""
    skip_without(name)
    path = subject.roll(subject.params(), gradient=NoGradient())
    extra = sorted(set(path.memory) - set(variables(subject)))
    require(not extra, f"the trajectory holds {extra}, which the model does not declare")
    require(name in path.memory, f"the trajectory does not hold {name!r}: no term or step changes it")
    found, start = path.memory[name], begin(subject).memory[name]
    wanted = (len(path), *start.shape)
    require(tuple(found.shape) == wanted, f"{name!r} has shape {tuple(found.shape)} in the trajectory, not {wanted}")
    require(found.dtype == start.dtype, f"{name!r} is {found.dtype} in the trajectory and {start.dtype} at the start")


@check("memory", variables)
def gradient(subject: ModelSubject, name: str) -> str:
    """The motion's gradient by the start of the variable agrees with differences."""
    skip_without(name)
    params, start = subject.params(), begin(subject)
    q, u = ({key: pair[k].detach() for key, pair in start.sets.items()} for k in (0, 1))
    others = {key: value.detach() for key, value in start.memory.items()}

    def motion(value: Tensor) -> Tensor:
        return flatten_state(subject.roll(params, state=State(q, u, memory={**others, name: value})))

    value = others[name].to(torch.float64)
    return describe_worst(require_matching_gradients(motion, {"value": value}, tolerance=TOLERANCE))


CHECKS = (declared, saved, gradient)
