"""What an integrator says of itself."""

from __future__ import annotations

from typing import Any

from diffloom.interfaces import Dynamics, Integrator, StoreAll
from diffloom.testing.checks import check, require
from diffloom.testing.refusals import refused
from diffloom.testing.settings_objects import frozen
from diffloom.testing.subjects import IntegratorSubject
from diffloom.testing.systems import CHAIN, SYSTEMS


class Unheard(Dynamics):
    """Dynamics that nobody knows."""

    @property
    def kind(self) -> str:
        return "unheard_of"


@check("interface")
def settings(subject: IntegratorSubject) -> None:
    """It is a frozen dataclass that derives from Integrator and needs no arguments."""
    frozen(subject.integrator, Integrator)


@check("interface")
def advances_something(subject: IntegratorSubject) -> str:
    """It advances at least one of the small systems."""
    able = [s.name for s in SYSTEMS if subject.integrator.refuses(s.dynamics()) is None]
    require(bool(able), "it refuses every kind of dynamics there is")
    return ", ".join(able)


def every_system(subject: IntegratorSubject) -> tuple[str, ...]:
    """Names of all small systems."""
    return tuple(system.name for system in SYSTEMS)


@check("interface", every_system)
def refuses_with_a_reason(subject: IntegratorSubject, name: str) -> None:
    """``refuses`` returns None or a reason in words."""
    system = next(s for s in SYSTEMS if s.name == name)
    reason = subject.integrator.refuses(system.dynamics())
    right = reason is None or (isinstance(reason, str) and bool(reason.strip()))
    require(right, f"refuses returns {reason!r} for a {name}; expected None or a reason")


@check("interface")
def refuses_the_unknown(subject: IntegratorSubject) -> None:
    """Dynamics of a kind it has never heard of are refused, and a rollout of them raises InputError."""
    strange = Unheard()
    require(bool(subject.integrator.refuses(strange)), "dynamics of an unknown kind are not refused")
    given: dict[str, Any] = {"dt": 0.1, "steps": 1, "save": (1,), "gradient": StoreAll()}
    refused("a rollout of unknown dynamics", lambda: subject.integrator.rollout(strange, CHAIN.start, **given))


CHECKS = (settings, advances_something, refuses_with_a_reason, refuses_the_unknown)
