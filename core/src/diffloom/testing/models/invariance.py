"""Invariances, those that a model claims in ``example_settings.claims``."""

from __future__ import annotations

import torch

from diffloom.interfaces import NoGradient, State, Trajectory
from diffloom.testing.checks import Failure, Skip, check, require
from diffloom.testing.models.motions import TURN, forces, is_body, matrix, shaken, shifted, turned
from diffloom.testing.subjects import ModelSubject

CLAIMS = ("translation", "rotation", "boost", "momentum", "angular_momentum")
#: Rounding that contact and stiff material may amplify on the way, as part of the example's size.
TOLERANCE = 1e-8
#: The same for forces, as part of the largest one.
FORCE_TOLERANCE = 1e-9


def claims(subject: ModelSubject) -> tuple[str, ...]:
    """What is claimed; all there is when nothing is, so that what is skipped is said."""
    return subject.claims or CLAIMS


@check("invariance", claims)
def claim(subject: ModelSubject, name: str) -> str:
    """A moved, turned or drifting system behaves the same; inner forces add up to nothing and do not turn it."""
    if name not in CLAIMS:
        raise Failure(f"example_settings.claims names {name!r}; claims are {', '.join(CLAIMS)}")
    if name not in subject.claims:
        raise Skip(f"the model does not claim {name}")
    return {
        "translation": translation,
        "rotation": rotation,
        "boost": boost,
        "momentum": momentum,
        "angular_momentum": angular_momentum,
    }[name](subject)


def translation(subject: ModelSubject) -> str:
    """Moved by a vector, all frames are moved by it."""
    state, shift = shaken(subject), torch.tensor([0.7, -0.4, 1.1], dtype=torch.float64) * subject.extent
    path, other = run(subject, state), run(subject, shifted(state, shift))
    return small("a moved start", (other.q[..., :3] - shift - path.q[..., :3]) / subject.extent, TOLERANCE)


def rotation(subject: ModelSubject) -> str:
    """Turned about the origin, all frames are turned."""
    state = shaken(subject)
    path, other = run(subject, state), run(subject, turned(state))
    return small("a turned start", (other.q[..., :3] - path.q[..., :3] @ matrix(TURN).T) / subject.extent, TOLERANCE)


def boost(subject: ModelSubject) -> str:
    """Forces do not change when everything drifts along."""
    state, drift = shaken(subject), torch.zeros(6, dtype=torch.float64)
    drift[:3] = torch.tensor([0.3, 0.9, -0.5], dtype=torch.float64)
    f = forces(subject, state)
    g = forces(subject, State(state.q, state.u + drift[: state.u.shape[1]]))
    return small("forces of a drifting system", (g - f) / f.abs().max(), FORCE_TOLERANCE)


def momentum(subject: ModelSubject) -> str:
    """Inner forces add up to nothing."""
    f = forces(subject, shaken(subject))
    return small("the sum of all inner forces", f[:, :3].sum(dim=0) / f.abs().max(), FORCE_TOLERANCE)


def angular_momentum(subject: ModelSubject) -> str:
    """Inner forces exert no torque."""
    state = shaken(subject)
    f = forces(subject, state)
    torque = torch.linalg.cross(state.q[:, :3], f[:, :3])
    torque = torque + f[:, 3:] if is_body(state) else torque
    if not bool(torque.any()):
        raise Skip("no inner force exerts a torque on the example, not even deformed and moving")
    return small("the torque of all inner forces", torque.sum(dim=0) / torque.abs().max(), FORCE_TOLERANCE)


def run(subject: ModelSubject, state: State) -> Trajectory:
    """The example from another start, under the values of "free"."""
    return subject.roll(subject.params(**subject.values("free")), state=state, gradient=NoGradient())


def small(what: str, difference: torch.Tensor, tolerance: float) -> str:
    """A note with the largest entry, or Failure when it is above the tolerance."""
    size = float(difference.abs().max())
    require(size <= tolerance, f"{what} differs by {size:.3g}, relative; allowed {tolerance:g}")
    return f"{size:.1e}"


CHECKS = (claim,)
