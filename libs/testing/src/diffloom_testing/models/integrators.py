"""Checks of the model with every installed integrator."""

from __future__ import annotations

import torch
from torch import Tensor

from diffloom.interfaces import Control, NoGradient, State
from diffloom.plugins import get_integrator, integrators
from diffloom_testing.comparisons import (
    describe_worst,
    flatten_coordinates,
    flatten_state,
    map_node_sets,
    require_finite,
    require_matching_gradients,
)
from diffloom_testing.models.gradients import full_value
from diffloom_testing.results import Failure, Skip, check, count_comparisons, require
from diffloom_testing.subjects import ModelSubject

#: Tolerance that leaves room for the solver tolerance of implicit schemes.
TOLERANCE = 1e-4
#: Number of steps, small because an implicit step costs a solve; a wrong pairing fails in the first step.
STEPS = 4


def list_installed(subject: ModelSubject) -> tuple[str, ...]:
    """Return the names of the installed integrators."""
    return integrators()


@check("integrators")
def some(subject: ModelSubject) -> str:
    """An installed integrator runs the model."""
    try:
        found = subject.integrator
        count_comparisons()
        return f"{found} and maybe others"
    except Skip as reason:
        raise Failure(str(reason)) from reason


@check("integrators", list_installed)
def runs(subject: ModelSubject, name: str) -> str:
    """The integrator refuses with a reason, or runs with finite frames and a right gradient."""
    dynamics = subject.model.dynamics(subject.params(), Control())
    reason = get_integrator(name)().refuses(dynamics)
    if reason is not None:
        require(isinstance(reason, str) and bool(reason.strip()), f"{name} refuses the model without a reason")
        raise Skip(reason)
    steps = min(STEPS, subject.steps)
    path = subject.roll(subject.params(), steps=steps, save=(0, steps), integrator=name, gradient=NoGradient())
    require_finite(f"the motion by {name}", flatten_coordinates(path))
    start = subject.model.initial_state(subject.params())
    require(
        torch.equal(flatten_coordinates(path[0]), flatten_coordinates(start)),
        f"the first frame by {name} is not the initial state",
    )
    given = dict(subject.variant_with(subject.fit))
    value = full_value(subject, subject.fit, given.pop(subject.fit, None))

    def motion(**fit: Tensor) -> Tensor:
        params = subject.params(**given, **fit)
        stirred = _perturb(subject, subject.model.initial_state(params))
        return flatten_state(subject.roll(params, state=stirred, steps=steps, save=(steps,), integrator=name))

    found = require_matching_gradients(motion, {subject.fit: value}, tolerance=TOLERANCE, directions=1)
    if all(c.silent for c in found):
        raise Skip(f"the motion of {steps} steps does not depend on {subject.fit!r}: nothing was compared")
    return describe_worst(found)


def _perturb(subject: ModelSubject, state: State) -> State:
    """Return the start, a little deformed and moving, so that forces act from the first step on."""
    random = torch.Generator().manual_seed(11)
    size = 0.02 * subject.extent

    def stir(q: Tensor, u: Tensor) -> tuple[Tensor, Tensor]:
        """Change velocities, and the coordinates of particles."""
        u = u + size * torch.randn(u.shape, generator=random, dtype=torch.float64)
        if q.dim() != 2 or q.shape[1] != 3:
            return q, u
        return q + size * torch.randn(q.shape, generator=random, dtype=torch.float64), u

    return map_node_sets(state, stir)


CHECKS = (some, runs)
