"""Explanations of rollouts that stopped being finite: step, node and cause."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NoReturn

import torch
from torch import Tensor

from diffloom.interfaces import SimulationError
from diffloom_mechanics.bad_forces import find_bad_force
from diffloom_mechanics.rollout import BadGradient, is_finite
from diffloom_mechanics.stepper import MakeStepper, Segment, Tensors
from diffloom_mechanics.system import Mechanics
from diffloom_mechanics.terms import ElementTerm

CHUNK = 256
Flow = tuple[Tensors, Tensors]


@dataclass(frozen=True)
class FailureExplainer:
    """Check of the saved states of a rollout, which runs it again where one is not finite."""

    system: Mechanics
    make: MakeStepper
    dt: float
    save: tuple[int, ...]

    def check(self, start: Flow, saved: Flow, tensors: Sequence[Tensor]) -> None:
        """Raise SimulationError that names the first bad step, if a saved state is not finite."""
        if not _finite((*saved[0], *saved[1])):
            explain_failure(self.system, self.make, start, saved, self.dt, self.save, tensors)


def explain_failure(
    system: Mechanics,
    make: MakeStepper,
    start: Flow,
    saved: Flow,
    dt: float,
    save: tuple[int, ...],
    tensors: Sequence[Tensor],
) -> NoReturn:
    """Run again from the last good saved state, and raise SimulationError that names the first bad step."""
    k, state = 0, tuple(t.detach() for t in (*start[0], *start[1]))
    frames = tuple(t.detach() for t in (*saved[0], *saved[1]))
    for frame, at in enumerate(save):
        here = tuple(t[frame] for t in frames)
        if not _finite(here):
            break
        k, state = at, here
    first = len(start[0])
    stepper = make([t.detach() for t in tensors], [])
    while k < save[-1]:
        count = min(CHUNK, save[-1] - k)  # values that change from step to step have no rows beyond
        hold = tuple(t.new_empty((count + 1, *t.shape)) for t in state)
        for rows, value in zip(hold, state, strict=True):
            rows[0] = value
        stepper.advance(Segment(k, hold[:first], hold[first:]))
        for j in range(1, count + 1):
            bad = tuple(t[j] for t in hold)
            if not _finite(bad):
                before = tuple(t[j - 1] for t in hold)
                raise SimulationError(
                    find_bad_force(system, before, tensors, k + j, dt) or _message(system, before, bad, k + j, dt)
                )
        k, state = k + count, tuple(t[count].clone() for t in hold)
    raise SimulationError(
        "a saved state is not finite, but a second run from the last finite one is: a force is not the same each time; "
        "check the force terms of your own"
    )


def explain_gradient(system: Mechanics, dt: float) -> Callable[[BadGradient], NoReturn]:
    """Return a function that a backward pass calls when a gradient is not finite; it raises SimulationError with the
    step.
    """

    def explain(found: BadGradient) -> NoReturn:
        if found.step is None:
            raise SimulationError(
                f"the loss has no finite gradient with respect to the saved states: its gradient by frame "
                f"{found.frame} is NaN or infinite. Look for a division by 0, a root or a logarithm of 0 in the loss."
            )
        first = len(system.sets) + len(system.compiled.remembering)
        speeds = [float(u.double().abs().max()) if u.numel() else 0.0 for u in found.state[first:]]
        raise SimulationError(
            f"the gradient is not finite from step {found.step + 1} (t = {(found.step + 1) * dt:.6g} s) backwards, "
            f"although the saved states are: its velocities reach {max(speeds):.3g}. The motion diverges or is "
            f"singular there. Try a smaller dt than {dt:.3g} s, fewer steps, more damping, or "
            "integrator='backward_euler'."
        )

    return explain


def _finite(state: Tensors) -> bool:
    """Return True if all numbers of a state are finite."""
    return all(is_finite(t.detach()) for t in state)


def _memory_message(system: Mechanics, memory: Tensors, step: int, dt: float) -> str:
    """Return the message about the first internal variable that is not finite."""
    parts = zip(system.compiled.remembering, memory, strict=True)
    term, value = next((term, value) for term, value in parts if not is_finite(value))
    row = int((~torch.isfinite(value).all(dim=1)).nonzero()[0])
    pieces = value[row].split([spec.width for spec in term.memory])
    spec = next(spec for spec, piece in zip(term.memory, pieces, strict=True) if not is_finite(piece))
    what = "element" if isinstance(term, ElementTerm) else "node"
    return (
        f"the simulation blew up in step {step} (t = {step * dt:.6g} s): the update of the term {term.name!r} gives "
        f"{what} {row} a {spec.name!r} that is not finite. Try a smaller dt than {dt:.3g} s, or check the update."
    )


def _message(system: Mechanics, before: Tensors, bad: Tensors, step: int, dt: float) -> str:
    """Return the message about the first state that is not finite."""
    count, first = len(system.sets), len(system.sets) + len(system.compiled.remembering)
    broken = [~(torch.isfinite(bad[n]).all(dim=1) & torch.isfinite(bad[first + n]).all(dim=1)) for n in range(count)]
    n = next((n for n, rows in enumerate(broken) if bool(rows.any())), None)
    if n is None:
        return _memory_message(system, bad[count:first], step, dt)
    name, nodes = list(system.sets.items())[n]
    node = int(broken[n].nonzero()[0])
    speeds = before[first + n][:, :3].double().norm(dim=1)
    fastest = int(torch.nan_to_num(speeds, nan=-1.0).argmax())
    elements = [
        f"{term.name} {int(hits[0])}"
        for term in system.terms
        if isinstance(term, ElementTerm)
        for of, corners in term.corners.items()
        if (of or name) == name and len(hits := (corners == node).any(axis=1).nonzero()[0])
    ]
    where = f"; it belongs to {', '.join(elements)}" if elements else ""
    kind = f"{nodes.name} {name!r}" if name else nodes.name
    return (
        f"the simulation blew up in step {step} (t = {step * dt:.6g} s): node {node} of the {kind} is not "
        f"finite{where}. Just before, the fastest node {fastest} moved at {float(speeds[fastest]):.3g} m/s. "
        f"Try a smaller dt than {dt:.3g} s, a softer material or contact, more damping, or integrator='backward_euler'."
    )
