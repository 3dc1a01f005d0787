"""What is wrong is said: schedules that make no sense, states that do not fit, motions that blow up."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch

from diffloom.dynamics import Mechanics, TorchTerm
from diffloom.interfaces import CustomStep, NoGradient, SimulationError, State
from diffloom.testing.checks import Skip, check, compared, require
from diffloom.testing.integrators.runs import accepted, names
from diffloom.testing.refusals import refused
from diffloom.testing.subjects import IntegratorSubject
from diffloom.testing.systems import CHAIN, OWN

BAD: dict[str, dict[str, Any]] = {
    "dt = 0": {"dt": 0.0},
    "dt < 0": {"dt": -0.01},
    "steps < 0": {"steps": -1, "save": ()},
    "a saved step beyond the last": {"save": (1, 99)},
    "saved steps out of order": {"save": (3, 1)},
}


@check("trouble", names)
def schedules(subject: IntegratorSubject, name: str) -> None:
    """Schedules that make no sense raise InputError."""
    system = accepted(subject, name)
    for what, wrong in BAD.items():
        given = {"dt": 0.01, "steps": 5, "save": (5,), "gradient": NoGradient(), **wrong}
        attempt = partial(subject.integrator.rollout, system.dynamics(), system.state(), **given)
        refused(what, attempt)


@check("trouble")
def blow_up(subject: IntegratorSubject) -> str:
    """A motion that is no longer finite raises SimulationError instead of coming back as NaN."""
    system: Mechanics | CustomStep = Mechanics(CHAIN.dynamics().nodes, (TorchTerm("blow_up", _explode),))  # type: ignore[attr-defined]
    if subject.integrator.refuses(system) is not None:
        system = CustomStep(lambda k, dt, state: State(state.q / 0.0 * 0.0, state.u))
    if subject.integrator.refuses(system) is not None:
        raise Skip("it advances neither mechanics nor own steps")
    try:
        path = subject.integrator.rollout(system, OWN.start, dt=0.01, steps=5, save=(1, 5), gradient=NoGradient())
    except SimulationError as error:
        compared()
        return str(error).split("\n")[0][:90]
    bad = not bool(torch.isfinite(path.q).all())
    require(False, "a force that is not finite gives " + ("NaN" if bad else "numbers") + "; expected SimulationError")
    return ""


def _explode(clock: object, q: torch.Tensor, u: torch.Tensor) -> torch.Tensor:
    return u + torch.nan


CHECKS = (schedules, blow_up)
