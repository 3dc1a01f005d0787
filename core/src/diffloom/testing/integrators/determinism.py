"""The same input gives the same bits, and inputs are left alone."""

from __future__ import annotations

from diffloom.interfaces import State, StoreAll
from diffloom.testing.checks import check
from diffloom.testing.comparing import same_bits
from diffloom.testing.integrators.gradients import pulled
from diffloom.testing.integrators.runs import accepted, flat, names, roll
from diffloom.testing.subjects import IntegratorSubject


@check("determinism", names)
def repeats(subject: IntegratorSubject, name: str) -> None:
    """Runs give the same motion and gradients, whatever the integrator ran in between."""
    system = accepted(subject, name)
    first = pulled(subject, system, StoreAll())
    roll(subject, system, state=State(1.1 * system.start.q, 0.5 * system.start.u))
    for a, b in zip(first, pulled(subject, system, StoreAll()), strict=True):
        same_bits("two runs", a, b)


@check("determinism", names)
def leaves_inputs_alone(subject: IntegratorSubject, name: str) -> None:
    """States that go in come out unchanged, and results of one run do not change by the next."""
    system = accepted(subject, name)
    state = State(system.start.q.clone(), system.start.u.clone())
    path = roll(subject, system, state=state)
    same_bits("the state before and after a run", state.q, system.start.q)
    same_bits("the velocities before and after a run", state.u, system.start.u)
    kept = flat(path).clone()
    roll(subject, system, state=State(1.1 * state.q, state.u))
    same_bits("a result before and after the next run", kept, flat(path))


CHECKS = (repeats, leaves_inputs_alone)
