"""Checks of a model's declarations, of copies, and of refusals of bad input."""

from __future__ import annotations

import copy
import math
import pickle
import re
from collections.abc import Callable
from typing import Any

import torch

from diffloom.interfaces import MemorySpec, Model, Params, ParamSpec, State
from diffloom_mechanics import ForceTerm
from diffloom_testing.comparisons import (
    flatten_coordinates,
    flatten_velocities,
    require_finite,
    require_refusal,
    require_same_bits,
)
from diffloom_testing.results import Failure, Skip, check, require
from diffloom_testing.subjects import ModelSubject

#: Symbols of units such as "kg/m^3", "N s/m", "rad/s^2"; a number without unit has "".
SYMBOLS = frozenset({
    "m", "kg", "g", "s", "min", "h", "N", "Pa", "J", "W", "rad", "deg", "sr", "K", "C", "V", "A", "T", "F", "H",
    "Hz", "Wb", "Ohm", "S", "mol", "cd", "lm", "lx", "px", "bar", "kPa", "MPa", "GPa", "mm", "cm", "km", "ms",
})  # fmt: skip


def parameters(subject: ModelSubject) -> tuple[str, ...]:
    """Return the names of all declared parameters."""
    return tuple(spec.name for spec in subject.model.specs)


def is_lower_case(name: str) -> bool:
    """Return True if a name, after the name of a part and a dot, is lower-case Python words."""
    return name == name.lower() and all(word.isidentifier() for word in name.split("."))


def require_specs(owner: Model | ForceTerm) -> list[str]:
    """Return the names of the parameters; raise Failure unless specs are a fixed tuple with different names."""
    specs = owner.specs
    require(
        isinstance(specs, tuple) and all(isinstance(s, ParamSpec) for s in specs), "specs must be a tuple of ParamSpec"
    )
    names = [s.name for s in specs]
    require([s.name for s in owner.specs] == names, "specs changes its order between two calls; it must be fixed")
    require(len(set(names)) == len(names), f"a name is declared twice among {names}")
    return names


@check("declarations")
def interface(subject: ModelSubject) -> None:
    """The model is a Model; specs are the same tuple twice; names are different Python identifiers."""
    model = subject.model
    require(isinstance(model, Model), f"example() returns {type(model).__name__}; expected a diffloom.interfaces.Model")
    odd = [name for name in require_specs(model) if not (isinstance(name, str) and is_lower_case(name))]
    require(not odd, f"parameter names {odd}: use lower-case words of Python, joined by _; a dot sets off a part")


@check("declarations", parameters)
def units(subject: ModelSubject, name: str) -> None:
    """The unit is written in SI symbols ("" for none), and the meaning is given."""
    require_unit(subject.spec(name))


def require_unit(spec: ParamSpec | MemorySpec) -> None:
    """Raise Failure unless a declaration has a meaning, and a unit in SI symbols."""
    name = spec.name
    require(isinstance(spec.doc, str) and bool(spec.doc.strip()), f"{name!r} has no doc: say in a few words what it is")
    require(isinstance(spec.unit, str), f"{name!r} has the unit {spec.unit!r}; expected a text such as 'N/m' or ''")
    for symbol in re.split(r"[ /]+", spec.unit) if spec.unit else ():
        bare = re.sub(r"\^-?\d+$", "", symbol)
        require(bare in SYMBOLS or bare == "1", f"{name!r}: {symbol!r} in the unit {spec.unit!r} is not an SI symbol")


@check("declarations", parameters)
def shape_and_bounds(subject: ModelSubject, name: str) -> None:
    """The shape names axes of the model, bounds are in order, and the finite default fits shape and bounds."""
    spec, axes = subject.spec(name), subject.model.axes
    for axis in spec.shape:
        known = isinstance(axis, int) or axis in axes
        require(known, f"{name!r} has the axis {axis!r}, which is not among the model's axes {sorted(axes)}")
    low, high = spec.bounds
    require(low is None or high is None or low < high, f"{name!r} has the bounds {spec.bounds}; expected low < high")
    if spec.default is not None:
        default = spec.default.double() if isinstance(spec.default, torch.Tensor) else spec.default
        require_finite(f"the default of {name!r}", spec.check(default, axes, torch.float64))


@check("declarations")
def axes(subject: ModelSubject) -> None:
    """Axes have lengths that are non-negative integers."""
    if not subject.model.axes:
        raise Skip("the model names no axes")
    for name, length in subject.model.axes.items():
        right = isinstance(length, int) and not isinstance(length, bool) and length >= 0
        require(isinstance(name, str) and right, f"axis {name!r} has the length {length!r}; expected a whole number")


@check("declarations")
def initial_state(subject: ModelSubject) -> None:
    """The initial state is finite, has the parameters' precision, and starts at time 0."""
    for dtype in (torch.float64, torch.float32):
        params = subject.model.params(dtype)
        require(isinstance(params, Params) and params.dtype == dtype, f"params({dtype}) has another precision")
        state = subject.model.initial_state(params)
        require(isinstance(state, State), f"initial_state returns {type(state).__name__}; expected a State")
        require(
            flatten_coordinates(state).dtype == dtype,
            f"initial_state is {flatten_coordinates(state).dtype} for parameters of {dtype}",
        )
        require(state.time == 0.0, f"initial_state is at time {state.time}; expected 0")
        require_finite("initial_state.q", flatten_coordinates(state))
        require_finite("initial_state.u", flatten_velocities(state))


@check("declarations")
def example(subject: ModelSubject) -> None:
    """The example's settings name existing parameters, a positive step and at least two steps."""
    names = parameters(subject)
    require(subject.dt > 0.0, f"example_settings.dt is {subject.dt}; expected seconds above 0")
    require(subject.steps >= 2, f"example_settings.steps is {subject.steps}; expected 2 or more")
    settings = subject.settings
    given = {"fit": [subject.fit], "values": settings.values, "rest": settings.rest or {}, "free": settings.free or {}}
    for key, named in given.items():
        unknown = sorted(set(named) - set(names))
        require(not unknown, f"example_settings.{key} names {unknown}; the parameters are {', '.join(names)}")


def list_bounded(subject: ModelSubject) -> tuple[str, ...]:
    """Return the parameters with a bound."""
    return tuple(s.name for s in subject.model.specs if s.bounds != (None, None))


@check("bad_input")
def unknown_parameter(subject: ModelSubject) -> None:
    """A parameter that is not declared is refused by its name."""
    require_refusal("a parameter called no_such_thing", lambda: subject.params(no_such_thing=1.0), "no_such_thing")


@check("bad_input", parameters)
def not_a_number(subject: ModelSubject, name: str) -> None:
    """NaN and infinity are refused by the parameter's name."""
    for value in (math.nan, math.inf):
        require_refusal(f"{name} = {value}", lambda value=value: subject.params(**{name: value}), name)  # type: ignore[misc]


@check("bad_input", parameters)
def wrong_shape(subject: ModelSubject, name: str) -> None:
    """A value that does not broadcast to the declared shape is refused."""
    full = subject.spec(name).full_shape(subject.model.axes)
    value = torch.ones((2, *full, 3), dtype=torch.float64)
    require_refusal(f"{name} of shape {tuple(value.shape)}", lambda: subject.params(**{name: value}), name)


@check("bad_input", list_bounded)
def out_of_bounds(subject: ModelSubject, name: str) -> None:
    """A value beyond a declared bound is refused."""
    low, high = subject.spec(name).bounds
    for bound, beyond in ((low, -1.0), (high, 1.0)):
        if bound is not None:
            value = bound + beyond
            require_refusal(f"{name} = {value:g}", lambda value=value: subject.params(**{name: value}), name)  # type: ignore[misc]


@check("bad_input")
def mixed_precision(subject: ModelSubject) -> None:
    """A float32 tensor among float64 parameters is refused, not converted silently."""
    given = next((s for s in subject.model.specs if s.default is not None), None)
    if given is None:
        raise Skip("the model has no parameter with a default")
    value = torch.as_tensor(given.default).float()
    require_refusal(f"{given.name} of float32", lambda: subject.params(**{given.name: value}), given.name)


def require_same_after(subject: ModelSubject, through: Callable[[Any], Any], verb: str) -> None:
    """Raise Failure unless a fresh and a used model both give the same motion after ``through``."""
    expected = subject.answer(subject.params())
    for state, model in (("fresh", subject.make()), ("used", subject.model)):
        try:
            other = through(model)
        except Exception as error:
            raise Failure(f"a {state} model cannot be {verb}: {type(error).__name__}: {error}") from error
        again = subject.answer(subject.params(), other)
        require_same_bits(f"motions of a {state} model and the one {verb}", expected, again)


@check("copying")
def pickles(subject: ModelSubject) -> None:
    """A pickled model gives the same motion, used or not."""
    require_same_after(subject, lambda model: pickle.loads(pickle.dumps(model)), "pickled")


@check("copying")
def copies(subject: ModelSubject) -> None:
    """A deep copy gives the same motion, used or not."""
    require_same_after(subject, copy.deepcopy, "copied")


CHECKS = (
    interface,
    units,
    shape_and_bounds,
    axes,
    initial_state,
    example,
    unknown_parameter,
    not_a_number,
    wrong_shape,
    out_of_bounds,
    mixed_precision,
    pickles,
    copies,
)
