"""Where and why a rollout stopped being finite."""

from __future__ import annotations

from typing import NoReturn

import torch
from torch import Tensor

from diffloom.interfaces import SimulationError, State, Trajectory
from diffloom.mechanics.rollout import MakeStepper
from diffloom.mechanics.stepper import Segment
from diffloom.mechanics.system import Mechanics
from diffloom.mechanics.terms import ElementTerm

CHUNK = 256


def explain_failure(
    system: Mechanics, make: MakeStepper, state: State, saved: Trajectory, dt: float, save: tuple[int, ...]
) -> NoReturn:
    """Run again from the last good saved state, find the first bad step, and raise SimulationError that names it."""
    k, q, u = 0, state.q.detach(), state.u.detach()
    for frame, at in enumerate(save):
        if not _finite(saved.q[frame], saved.u[frame]):
            break
        k, q, u = at, saved.q[frame], saved.u[frame]
    stepper = make([t.detach() for t in system.tensors], [])
    while k <= save[-1]:
        states_q = q.new_empty((CHUNK + 1, *q.shape))
        states_u = u.new_empty((CHUNK + 1, *u.shape))
        states_q[0], states_u[0] = q, u
        stepper.advance(Segment(k, states_q, states_u))
        for j in range(1, CHUNK + 1):
            if not _finite(states_q[j], states_u[j]):
                raise SimulationError(
                    _message(system, states_q[j - 1], states_u[j - 1], states_q[j], states_u[j], k + j, dt)
                )
        k, q, u = k + CHUNK, states_q[CHUNK].clone(), states_u[CHUNK].clone()
    raise SimulationError(
        "the saved states are not finite, but running again from the last good one gave finite states"
    )


def _finite(q: Tensor, u: Tensor) -> bool:
    return bool(torch.isfinite(q).all()) and bool(torch.isfinite(u).all())


def _message(system: Mechanics, q: Tensor, u: Tensor, q_bad: Tensor, u_bad: Tensor, step: int, dt: float) -> str:
    bad = ~(torch.isfinite(q_bad).all(dim=1) & torch.isfinite(u_bad).all(dim=1))
    node = int(bad.nonzero()[0])
    rows = u[:, :3].double()
    fastest = int(torch.nan_to_num(rows.norm(dim=1), nan=-1.0).argmax())
    elements = [
        f"{term.name} {int(hits[0])}"
        for term in system.terms
        if isinstance(term, ElementTerm) and len(hits := (term.nodes == node).any(axis=1).nonzero()[0])
    ]
    where = f"; it belongs to {', '.join(elements)}" if elements else ""
    return (
        f"the simulation blew up in step {step} (t = {step * dt:.6g} s): node {node} of the {system.law.name} is not "
        f"finite{where}. Just before, the fastest node {fastest} moved at {float(rows[fastest].norm()):.3g} m/s. "
        f"Try a smaller dt than {dt:.3g} s, a softer material or contact, more damping, or integrator='backward_euler'."
    )
