"""Checks that runs repeat bit for bit, and that single precision agrees with double."""

from __future__ import annotations

import torch
from torch import Tensor

from diffloom_testing.comparisons import (
    flatten_coordinates,
    flatten_state,
    flatten_velocities,
    require_finite,
    require_same_bits,
)
from diffloom_testing.models.gradients import full_value
from diffloom_testing.results import check, require
from diffloom_testing.subjects import ModelSubject


def motion_and_gradient(subject: ModelSubject, name: str, value: Tensor) -> tuple[Tensor, Tensor]:
    """Return the example's motion at one value of a parameter, and the gradient of its sum."""
    leaf = value.clone().requires_grad_()
    flat = flatten_state(subject.roll(subject.params(**{**subject.variant_with(name), name: leaf})))
    return flat.detach(), torch.autograd.grad(flat.sum(), leaf)[0]


@check("determinism")
def repeats(subject: ModelSubject) -> None:
    """Two runs in a row give the same motion and the same gradient, bit for bit."""
    name = subject.fit
    value = full_value(subject, name, subject.variant_with(name).get(name))
    first, again = (motion_and_gradient(subject, name, value) for _ in range(2))
    require_same_bits("two runs of the same motion", first[0], again[0])
    require_same_bits("gradients of the same motion", first[1], again[1])


@check("determinism")
def remembers_nothing(subject: ModelSubject) -> None:
    """A run with other values in between changes nothing, and a fresh model gives the same bits."""
    name = subject.fit
    value = full_value(subject, name, subject.variant_with(name).get(name))
    first = motion_and_gradient(subject, name, value)
    motion_and_gradient(subject, name, 1.3 * value + 0.01 * (value == 0.0))
    again = motion_and_gradient(subject, name, value)
    require_same_bits("runs before and after another one", first[0], again[0])
    require_same_bits("gradients before and after another run", first[1], again[1])
    fresh = subject.answer(subject.params(**{**subject.variant_with(name), name: value}), model=subject.make())
    require_same_bits("runs of the model and of one made anew", first[0], fresh)


@check("determinism")
def leaves_inputs_alone(subject: ModelSubject) -> None:
    """Parameters and states that are passed in do not change."""
    params = subject.params()
    before = {name: value.clone() for name, value in params.items()}
    state = subject.model.initial_state(params)
    q, u = flatten_coordinates(state).clone(), flatten_velocities(state).clone()
    path = subject.roll(params, state=state)
    subject.model.surface(path, params)
    changed = [name for name, value in params.items() if not torch.equal(value, before[name])]
    require(not changed, f"a run changes the parameters {changed} in place")
    require_same_bits("the state before and after a run", q, flatten_coordinates(state))
    require_same_bits("the velocities before and after a run", u, flatten_velocities(state))


#: Tolerance between precisions: float32 has seven digits, and contact and stiff material amplify its rounding.
MOTION, GRADIENT = 1e-3, 3e-2


def run(subject: ModelSubject, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Return the coordinates of the example's motion, and their gradient by the parameter ``fit``."""
    name = subject.fit
    given = {**subject.variant_with(name)}
    leaf = full_value(subject, name, given.pop(name, None)).to(dtype).requires_grad_()
    path = subject.roll(subject.params_in(dtype, **given, **{name: leaf}))
    dtypes = {value.dtype for pair in path.sets.values() for value in pair}
    require(dtypes == {dtype}, f"parameters of {dtype} give a motion of {', '.join(map(str, dtypes))}")
    q = flatten_coordinates(path)
    weights = torch.linspace(-1.0, 1.0, q.numel(), dtype=torch.float64).to(dtype)
    gradient = torch.autograd.grad((q * weights).sum(), leaf)[0]
    motion = require_finite(f"the motion in {dtype}", q.detach())
    return motion.double(), require_finite("its gradient", gradient).double()


@check("precision")
def single_and_double(subject: ModelSubject) -> str:
    """Motion and gradient in float32 agree with float64 to a few digits, and have the dtype float32."""
    (q, g), (q32, g32) = run(subject, torch.float64), run(subject, torch.float32)
    off = float((q32 - q).abs().max()) / subject.extent
    require(off <= MOTION, f"the motion in float32 is off by {off:.3g} of the example's size; allowed {MOTION:g}")
    size = float(g.abs().max())
    if not size and not bool(g32.any()):
        return f"motion off by {off:.1e}; the gradient is zero in both"
    apart = float((g32 - g).abs().max()) / size if size else float("inf")
    require(apart <= GRADIENT, f"the gradient in float32 is off by {apart:.3g}, relative; allowed {GRADIENT:g}")
    return f"motion off by {off:.1e}, gradient by {apart:.1e}"


CHECKS = (repeats, remembers_nothing, leaves_inputs_alone, single_and_double)
