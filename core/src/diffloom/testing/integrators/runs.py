"""Running the small systems with the integrator under test."""

from __future__ import annotations

import torch
from torch import Tensor

from diffloom.interfaces import Dynamics, Gradient, NoGradient, State, Trajectory
from diffloom.testing.checks import Skip
from diffloom.testing.subjects import IntegratorSubject
from diffloom.testing.systems import SYSTEMS, System

STEPS = 10


def names(subject: IntegratorSubject) -> tuple[str, ...]:
    """Names of the small systems that the integrator advances; of all, if it refuses all."""
    able = tuple(s.name for s in SYSTEMS if subject.integrator.refuses(s.dynamics()) is None)
    return able or tuple(s.name for s in SYSTEMS)


def accepted(subject: IntegratorSubject, name: str) -> System:
    """The system of this name, if the integrator advances it."""
    system = next(s for s in SYSTEMS if s.name == name)
    reason = subject.integrator.refuses(system.dynamics())
    if reason is not None:
        raise Skip(reason)
    return system


def roll(
    subject: IntegratorSubject,
    system: System,
    *,
    dynamics: Dynamics | None = None,
    state: State | None = None,
    steps: int = STEPS,
    save: tuple[int, ...] | None = None,
    gradient: Gradient | None = None,
    dtype: torch.dtype = torch.float64,
) -> Trajectory:
    """Advance a system by ``steps`` steps, of which its period has twenty."""
    return subject.integrator.rollout(
        dynamics if dynamics is not None else system.dynamics(dtype),
        state if state is not None else system.state(dtype),
        dt=system.period / (2 * STEPS),
        steps=steps,
        save=save if save is not None else (steps // 2, steps),
        gradient=gradient or NoGradient(),
    )


def flat(path: Trajectory) -> Tensor:
    """All saved numbers in a row."""
    return torch.cat([path.q.reshape(-1), path.u.reshape(-1)])
