"""From a stepper to a checked trajectory: what every integrator of mechanics shares."""

from __future__ import annotations

import torch

from diffloom.integrators.diagnosis import explain_failure
from diffloom.interfaces import Gradient, InputError, Integrator, NoGradient, State, Trajectory
from diffloom.mechanics.rollout import MakeStepper, Plan, run_rollout
from diffloom.mechanics.system import Mechanics
from diffloom.mechanics.terms import ElementTerm, NodeTerm


def roll(
    integrator: Integrator,
    system: Mechanics,
    make: MakeStepper,
    state: State,
    *,
    dt: float,
    steps: int,
    save: tuple[int, ...],
    gradient: Gradient,
) -> Trajectory:
    """Check, run, and look at the saved states; a state that is not finite is explained and raised."""
    reason = integrator.refuses(system)
    if reason is not None:
        raise InputError(reason)
    check_schedule(dt, steps, save)
    check_state(system, state)
    check_rows_per_step(system, steps)
    tensors = system.tensors
    if not (torch.is_grad_enabled() and any(t.requires_grad for t in (state.q, state.u, *tensors))):
        gradient = NoGradient()
    plan = Plan(make, steps, save, gradient)
    q, u = run_rollout(plan, state.q.contiguous(), state.u.contiguous(), tensors)
    times = state.time + dt * torch.tensor(save, dtype=torch.float64)
    if not (bool(torch.isfinite(q.detach()).all()) and bool(torch.isfinite(u.detach()).all())):
        explain_failure(system, make, state, Trajectory(q.detach(), u.detach(), times), dt, save)
    return Trajectory(q, u, times)


def check_schedule(dt: float, steps: int, save: tuple[int, ...]) -> None:
    """Raise unless step length, number and saved steps make sense."""
    if not dt > 0.0:
        raise InputError(f"dt: got {dt} s; expected a positive step length")
    if steps < 0:
        raise InputError(f"steps: got {steps}; expected 0 or more")
    if list(save) != sorted(set(save)) or (save and not 0 <= save[0] <= save[-1] <= steps):
        raise InputError(f"save: got {save}; expected increasing step counts between 0 and {steps}")


def check_rows_per_step(system: Mechanics, steps: int) -> None:
    """Raise unless what changes from step to step has a row for each step, or one for all."""
    terms: tuple[ElementTerm | NodeTerm, ...] = (*system.compiled.elements, *system.compiled.nodes)
    for term in terms:
        for name, value in term.params:
            stepped = name in term.per_step and (value.dim() == 2 or isinstance(term, NodeTerm))
            if stepped and 1 < value.shape[0] < steps:
                raise InputError(
                    f"term {term.name!r}, {name!r}: got values for {value.shape[0]} steps in a rollout of {steps}; "
                    "expected one row a step, or one for all"
                )


def check_state(system: Mechanics, state: State) -> None:
    """Raise unless the state fits the system's nodes and precision."""
    law = system.law
    wanted_q, wanted_u = (law.count, law.dq), (law.count, law.du)
    if tuple(state.q.shape) != wanted_q or tuple(state.u.shape) != wanted_u:
        raise InputError(
            f"state: q {tuple(state.q.shape)} and u {tuple(state.u.shape)} were given; "
            f"{law.name} expect {wanted_q} and {wanted_u}"
        )
    dtype = law.arrays[0][1].dtype
    if state.q.dtype != dtype:
        raise InputError(f"state is {state.q.dtype} but the parameters are {dtype}; make both with the same dtype")
    state.check_finite()
