"""Checks of the systems and schedules that an integrator accepts, and of copies."""

from __future__ import annotations

from typing import Any

import torch

from diffloom.interfaces import Dynamics, Integrator, StoreAll
from diffloom_testing.comparisons import (
    largest_difference,
    require_equal_copies,
    require_frozen,
    require_refusal,
    require_same_bits,
)
from diffloom_testing.integrators.accuracy import STEPS, advanced_systems, require_system, roll
from diffloom_testing.results import check, require
from diffloom_testing.subjects import IntegratorSubject
from diffloom_testing.systems import CHAIN, SYSTEMS


class UnknownDynamics(Dynamics):
    """Dynamics of a kind that no integrator advances."""

    @property
    def kind(self) -> str:
        return "unheard_of"


@check("interface")
def settings(subject: IntegratorSubject) -> None:
    """The integrator is a frozen dataclass that derives from Integrator and needs no arguments."""
    require_frozen(subject.integrator, Integrator)


@check("interface")
def advances_something(subject: IntegratorSubject) -> str:
    """The integrator advances at least one of the small systems."""
    able = [s.name for s in SYSTEMS if subject.integrator.refuses(s.dynamics()) is None]
    require(bool(able), "it refuses every kind of dynamics there is")
    return ", ".join(able)


def every_system(subject: IntegratorSubject) -> tuple[str, ...]:
    """Return the names of all small systems."""
    return tuple(system.name for system in SYSTEMS)


@check("interface", every_system)
def refuses_with_a_reason(subject: IntegratorSubject, name: str) -> None:
    """The method ``refuses`` returns None or a reason in words."""
    system = next(s for s in SYSTEMS if s.name == name)
    reason = subject.integrator.refuses(system.dynamics())
    right = reason is None or (isinstance(reason, str) and bool(reason.strip()))
    require(right, f"refuses returns {reason!r} for a {name}; expected None or a reason")


@check("interface")
def refuses_the_unknown(subject: IntegratorSubject) -> None:
    """Dynamics of an unknown kind are refused, and a rollout of them raises InputError."""
    strange = UnknownDynamics()
    require(bool(subject.integrator.refuses(strange)), "dynamics of an unknown kind are not refused")
    given: dict[str, Any] = {"dt": 0.1, "steps": 1, "save": (1,), "gradient": StoreAll()}
    require_refusal("a rollout of unknown dynamics", lambda: subject.integrator.rollout(strange, CHAIN.start, **given))


@check("schedule", advanced_systems)
def saves_what_is_asked(subject: IntegratorSubject, name: str) -> None:
    """The trajectory holds exactly the saved steps, each as in a run that saves all; frame 0 is the start."""
    system = require_system(subject, name)
    every = roll(subject, system, save=tuple(range(STEPS + 1)))
    some = (0, 1, 4, STEPS)
    path = roll(subject, system, save=some)
    require(len(path) == len(some), f"asked for {len(some)} frames, got {len(path)}")
    require(path.q.shape[1:] == system.start.q.shape, f"q has the shape {tuple(path.q.shape)}")
    for frame, k in enumerate(some):
        require_same_bits(f"step {k} saved among few and among all", path.q[frame], every.q[k])
        require_same_bits(f"velocities of step {k} saved among few and among all", path.u[frame], every.u[k])
    require_same_bits("the first frame and the start", path.q[0], system.start.q)


@check("schedule", advanced_systems)
def times(subject: IntegratorSubject, name: str) -> None:
    """Times are those of the saved steps, counted from the time of the initial state."""
    system = require_system(subject, name)
    start = type(system.start)(system.start.q, system.start.u, 3.0)
    path = roll(subject, system, state=start, save=(0, 3, STEPS))
    wanted = 3.0 + system.period / (2 * STEPS) * torch.tensor([0.0, 3.0, float(STEPS)], dtype=torch.float64)
    off = largest_difference(path.times.double(), wanted)
    require(off <= 1e-6, f"times are {path.times.tolist()}; expected {wanted.tolist()}")


@check("schedule", advanced_systems)
def goes_on(subject: IntegratorSubject, name: str) -> str:
    """Two runs in a row equal one long run: the state alone carries over."""
    system = require_system(subject, name)
    whole = roll(subject, system, save=(STEPS,))
    half = roll(subject, system, steps=STEPS // 2, save=(STEPS // 2,))
    rest = roll(subject, system, state=half.last, steps=STEPS - STEPS // 2, save=(STEPS - STEPS // 2,))
    off = largest_difference(whole.q, rest.q)
    require(off <= 1e-9, f"two halves and the whole differ by {off:.3g}; allowed 1e-9")
    return f"{off:.1e}"


@check("copying")
def pickles_and_copies(subject: IntegratorSubject) -> None:
    """A pickled and a copied integrator equal the original."""
    require_equal_copies(subject.integrator)


CHECKS = (
    settings,
    advances_something,
    refuses_with_a_reason,
    refuses_the_unknown,
    saves_what_is_asked,
    times,
    goes_on,
    pickles_and_copies,
)
