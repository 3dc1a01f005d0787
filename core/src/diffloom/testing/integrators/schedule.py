"""The frames asked for, no others, at their times; continuing is the same as going on."""

from __future__ import annotations

import torch

from diffloom.testing.checks import check, require
from diffloom.testing.comparing import largest_difference, same_bits
from diffloom.testing.integrators.runs import STEPS, accepted, names, roll
from diffloom.testing.subjects import IntegratorSubject


@check("schedule", names)
def saves_what_is_asked(subject: IntegratorSubject, name: str) -> None:
    """The trajectory holds exactly the saved steps, each as in a run that saves all; frame 0 is the start."""
    system = accepted(subject, name)
    every = roll(subject, system, save=tuple(range(STEPS + 1)))
    some = (0, 1, 4, STEPS)
    path = roll(subject, system, save=some)
    require(len(path) == len(some), f"asked for {len(some)} frames, got {len(path)}")
    require(path.q.shape[1:] == system.start.q.shape, f"q has the shape {tuple(path.q.shape)}")
    for frame, k in enumerate(some):
        same_bits(f"step {k} saved among few and among all", path.q[frame], every.q[k])
        same_bits(f"velocities of step {k} saved among few and among all", path.u[frame], every.u[k])
    same_bits("the first frame and the start", path.q[0], system.start.q)


@check("schedule", names)
def times(subject: IntegratorSubject, name: str) -> None:
    """Times are those of the saved steps, counted from the state's own."""
    system = accepted(subject, name)
    start = type(system.start)(system.start.q, system.start.u, 3.0)
    path = roll(subject, system, state=start, save=(0, 3, STEPS))
    wanted = 3.0 + system.period / (2 * STEPS) * torch.tensor([0.0, 3.0, float(STEPS)], dtype=torch.float64)
    off = largest_difference(path.times.double(), wanted)
    require(off <= 1e-6, f"times are {path.times.tolist()}; expected {wanted.tolist()}")


@check("schedule", names)
def goes_on(subject: IntegratorSubject, name: str) -> str:
    """Two runs one after the other are one long run: nothing is carried but the state."""
    system = accepted(subject, name)
    whole = roll(subject, system, save=(STEPS,))
    half = roll(subject, system, steps=STEPS // 2, save=(STEPS // 2,))
    rest = roll(subject, system, state=half.last, steps=STEPS - STEPS // 2, save=(STEPS - STEPS // 2,))
    off = largest_difference(whole.q, rest.q)
    require(off <= 1e-9, f"two halves and the whole differ by {off:.3g}; allowed 1e-9")
    return f"{off:.1e}"


CHECKS = (saves_what_is_asked, times, goes_on)
