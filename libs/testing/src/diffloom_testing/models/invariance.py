"""Checks of the invariances that a model claims: rest, moved frames and conserved momenta."""

from __future__ import annotations

import torch
from torch import Tensor

from diffloom.interfaces import Control, NoGradient, State, Trajectory
from diffloom_mechanics import Mechanics
from diffloom_testing.comparisons import flatten_velocities, map_node_sets
from diffloom_testing.results import Failure, Skip, check, require
from diffloom_testing.subjects import ModelSubject

#: Rotation about a slanted axis: quaternion w, x, y, z.
TURN = torch.tensor([0.8, 0.36, -0.48, 0.0], dtype=torch.float64)


def is_body(q: Tensor) -> bool:
    """Return True if nodes are bodies (7 coordinates) rather than particles (3)."""
    return q.shape[1] == 7


def perturb_free_state(subject: ModelSubject) -> State:
    """Return the example under the values of "free", deformed and moving a little, so that forces act."""
    state = subject.model.initial_state(subject.params(**subject.values("free")))
    for q, _ in state.sets.values():
        if q.dim() != 2 or q.shape[1] not in (3, 7):
            raise Skip(f"coordinates have the shape {tuple(q.shape)}: neither particles nor bodies")
    random = torch.Generator().manual_seed(11)
    size = 0.02 * subject.extent

    def shake(q: Tensor, u: Tensor) -> tuple[Tensor, Tensor]:
        """Change velocities, and the coordinates of particles."""
        u = u + size * torch.randn(u.shape, generator=random, dtype=torch.float64)
        return (q if is_body(q) else q + size * torch.randn(q.shape, generator=random, dtype=torch.float64)), u

    return map_node_sets(state, shake)


def shift_state(state: State, shift: Tensor) -> State:
    """Return the state shifted by ``shift`` (3,) [m]."""
    return map_node_sets(state, lambda q, u: (torch.cat([q[:, :3] + shift, q[:, 3:]], dim=1), u))


def rotate_state(state: State, turn: Tensor = TURN) -> State:
    """Return the state rotated about the origin."""
    R = matrix(turn)

    def rotate(q: Tensor, u: Tensor) -> tuple[Tensor, Tensor]:
        """Rotate coordinates and velocities."""
        q = torch.cat([q[:, :3] @ R.T, product(turn, q[:, 3:])], dim=1) if is_body(q) else q @ R.T
        return q, torch.cat([part @ R.T for part in u.split(3, dim=1)], dim=1)

    return map_node_sets(state, rotate)


def matrix(turn: Tensor) -> Tensor:
    """Return the rotation matrix (3, 3) of a unit quaternion."""
    w, x, y, z = turn.tolist()
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return torch.tensor(rows, dtype=torch.float64)


def product(a: Tensor, b: Tensor) -> Tensor:
    """Return the quaternion products of ``a`` (4,) with rows of ``b`` (n, 4)."""
    vector = b[:, 1:]
    w = a[0] * b[:, 0] - vector @ a[1:]
    v = a[0] * vector + b[:, :1] * a[1:] + torch.linalg.cross(a[1:].expand_as(vector), vector)
    return torch.cat([w[:, None], v], dim=1)


def forces(subject: ModelSubject, state: State) -> dict[str, Tensor]:
    """Return forces (nodes, 3), or forces and torques (bodies, 6), of every node set under the values of "free"."""
    system = subject.model.dynamics(subject.params(**subject.values("free")), Control())
    if not isinstance(system, Mechanics):
        raise Skip(f"forces are needed for this, and the model brings {system.kind!r}")
    found = {name: f.detach() for name, f in system.forces(state, dt=subject.dt).items()}
    if not any(bool((f != 0.0).any()) for f in found.values()):
        raise Skip("no force acts on the example under the values of 'free', not even deformed and moving")
    return found


#: Largest motion by rounding at rest, relative to the example's size.
REST_TOLERANCE = 1e-9


@check("rest")
def stays(subject: ModelSubject) -> str:
    """The state does not move over the steps of the example with the values of ``example_settings.rest``."""
    params = subject.params(**subject.values("rest"))
    path = subject.roll(params, gradient=NoGradient(), save=(0, subject.steps // 2, subject.steps))
    require(
        float(flatten_velocities(path[0]).abs().max()) == 0.0,
        "the values of 'rest' give a state that moves at the start",
    )
    moved = max(float((q - q[0]).abs().max()) for q, _ in path.sets.values()) / subject.extent
    require(moved <= REST_TOLERANCE, f"the state at rest moves by {moved:.3g} of its size; allowed {REST_TOLERANCE:g}")
    return f"moves by {moved:.1e} of its size"


CLAIMS = ("translation", "rotation", "boost", "momentum", "angular_momentum")
#: Largest difference of positions, relative to the example's size; contact and stiff material amplify rounding.
TOLERANCE = 1e-8
#: Largest difference of forces, relative to the largest force.
FORCE_TOLERANCE = 1e-9


def claims(subject: ModelSubject) -> tuple[str, ...]:
    """Return the claims of the model; without any, all possible claims, so that the report mentions the skipped
    ones.
    """
    return subject.claims or CLAIMS


@check("invariance", claims)
def claim(subject: ModelSubject, name: str) -> str:
    """A shifted, rotated or drifting system behaves equally; inner forces and torques sum to zero."""
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
    """Require that a shifted start gives shifted frames."""
    state, shift = perturb_free_state(subject), torch.tensor([0.7, -0.4, 1.1], dtype=torch.float64) * subject.extent
    path, other = run(subject, state), run(subject, shift_state(state, shift))
    return require_small("a moved start", (centres(other) - shift - centres(path)) / subject.extent, TOLERANCE)


def rotation(subject: ModelSubject) -> str:
    """Require that a rotated start gives rotated frames."""
    state = perturb_free_state(subject)
    path, other = run(subject, state), run(subject, rotate_state(state))
    return require_small(
        "a turned start", (centres(other) - centres(path) @ matrix(TURN).T) / subject.extent, TOLERANCE
    )


def boost(subject: ModelSubject) -> str:
    """Require that forces do not change if everything drifts along."""
    state, drift = perturb_free_state(subject), torch.zeros(6, dtype=torch.float64)
    drift[:3] = torch.tensor([0.3, 0.9, -0.5], dtype=torch.float64)
    f = concatenate_sets(forces(subject, state))
    g = concatenate_sets(forces(subject, map_node_sets(state, lambda q, u: (q, u + drift[: u.shape[1]]))))
    return require_small("forces of a drifting system", (g - f) / f.abs().max(), FORCE_TOLERANCE)


def momentum(subject: ModelSubject) -> str:
    """Require that inner forces sum to zero."""
    f = torch.cat([each[:, :3] for each in forces(subject, perturb_free_state(subject)).values()])
    return require_small("the sum of all inner forces", f.sum(dim=0) / f.abs().max(), FORCE_TOLERANCE)


def angular_momentum(subject: ModelSubject) -> str:
    """Require that torques of inner forces sum to zero."""
    state = perturb_free_state(subject)
    parts = []
    for name, f in forces(subject, state).items():
        q = state.sets[name][0]
        arms = torch.linalg.cross(q[:, :3], f[:, :3])
        parts.append(arms + f[:, 3:] if is_body(q) else arms)
    torque = torch.cat(parts)
    if not bool(torque.any()):
        raise Skip("no inner force exerts a torque on the example, not even deformed and moving")
    return require_small("the torque of all inner forces", torque.sum(dim=0) / torque.abs().max(), FORCE_TOLERANCE)


def centres(path: Trajectory) -> Tensor:
    """Return the positions (frames, nodes, 3) of the nodes of all sets."""
    return torch.cat([q[..., :3] for q, _ in path.sets.values()], dim=1)


def concatenate_sets(parts: dict[str, Tensor]) -> Tensor:
    """Return the numbers of all node sets in one row."""
    return torch.cat([part.reshape(-1) for part in parts.values()])


def run(subject: ModelSubject, state: State) -> Trajectory:
    """Run the example from another start, under the values of "free"."""
    return subject.roll(subject.params(**subject.values("free")), state=state, gradient=NoGradient())


def require_small(what: str, difference: torch.Tensor, tolerance: float) -> str:
    """Return a note with the largest entry; raise Failure if it exceeds the tolerance."""
    size = float(difference.abs().max())
    require(size <= tolerance, f"{what} differs by {size:.3g}, relative; allowed {tolerance:g}")
    return f"{size:.1e}"


CHECKS = (stays, claim)
