"""Checks that runs repeat bit for bit, of both precisions, and of errors in trouble."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch

from diffloom.interfaces import CustomStep, NoGradient, SimulationError, State, StoreAll
from diffloom_mechanics import Mechanics, TorchTerm
from diffloom_testing.comparisons import flatten_state, largest_difference, require_refusal, require_same_bits
from diffloom_testing.integrators.accuracy import advanced_systems, differentiate_motion, require_system, roll
from diffloom_testing.results import Skip, check, count_comparisons, require
from diffloom_testing.subjects import IntegratorSubject
from diffloom_testing.systems import CHAIN, OWN


@check("determinism", advanced_systems)
def repeats(subject: IntegratorSubject, name: str) -> None:
    """Runs give the same motion and gradients, independent of runs in between."""
    system = require_system(subject, name)
    first = differentiate_motion(subject, system, StoreAll())
    roll(subject, system, state=State(1.1 * system.start.q, 0.5 * system.start.u))
    for a, b in zip(first, differentiate_motion(subject, system, StoreAll()), strict=True):
        require_same_bits("two runs", a, b)


@check("determinism", advanced_systems)
def leaves_inputs_alone(subject: IntegratorSubject, name: str) -> None:
    """States that are passed in do not change, nor do results of one run during the next."""
    system = require_system(subject, name)
    state = State(system.start.q.clone(), system.start.u.clone())
    path = roll(subject, system, state=state)
    require_same_bits("the state before and after a run", state.q, system.start.q)
    require_same_bits("the velocities before and after a run", state.u, system.start.u)
    kept = flatten_state(path).clone()
    roll(subject, system, state=State(1.1 * state.q, state.u))
    require_same_bits("a result before and after the next run", kept, flatten_state(path))


@check("precision", advanced_systems)
def single_and_double(subject: IntegratorSubject, name: str) -> str:
    """A motion in float32 agrees with float64 to five digits, and has the dtype float32."""
    system = require_system(subject, name)
    single, double = roll(subject, system, dtype=torch.float32), roll(subject, system)
    require(single.q.dtype == torch.float32, f"a float32 system gives a motion of {single.q.dtype}")
    off = largest_difference(single.q, double.q)
    require(off <= 1e-5, f"float32 and float64 differ by {off:.3g} m on a chain of 1 m; allowed 1e-5")
    return f"{off:.1e}"


BAD: dict[str, dict[str, Any]] = {
    "dt = 0": {"dt": 0.0},
    "dt < 0": {"dt": -0.01},
    "steps < 0": {"steps": -1, "save": ()},
    "a saved step beyond the last": {"save": (1, 99)},
    "saved steps out of order": {"save": (3, 1)},
}


@check("trouble", advanced_systems)
def schedules(subject: IntegratorSubject, name: str) -> None:
    """Schedules that make no sense raise InputError."""
    system = require_system(subject, name)
    for what, wrong in BAD.items():
        given = {"dt": 0.01, "steps": 5, "save": (5,), "gradient": NoGradient(), **wrong}
        attempt = partial(subject.integrator.rollout, system.dynamics(), system.state(), **given)
        require_refusal(what, attempt)


@check("trouble")
def blow_up(subject: IntegratorSubject) -> str:
    """A motion that is no longer finite raises SimulationError instead of returning NaN."""
    system: Mechanics | CustomStep = Mechanics(CHAIN.dynamics().nodes, (TorchTerm("blow_up", _explode),))  # type: ignore[attr-defined]
    if subject.integrator.refuses(system) is not None:
        system = CustomStep(lambda k, dt, state: State(state.q / 0.0 * 0.0, state.u))
    if subject.integrator.refuses(system) is not None:
        raise Skip("it advances neither mechanics nor own steps")
    try:
        path = subject.integrator.rollout(system, OWN.start, dt=0.01, steps=5, save=(1, 5), gradient=NoGradient())
    except SimulationError as error:
        count_comparisons()
        return str(error).split("\n")[0][:90]
    bad = not bool(torch.isfinite(path.q).all())
    require(False, "a force that is not finite gives " + ("NaN" if bad else "numbers") + "; expected SimulationError")
    return ""


def _explode(clock: object, q: torch.Tensor, u: torch.Tensor) -> torch.Tensor:
    """Return a force that is NaN."""
    return u + torch.nan


CHECKS = (repeats, leaves_inputs_alone, single_and_double, schedules, blow_up)
