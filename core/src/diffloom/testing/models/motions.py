"""Rigid motions of a state, for particles (q: place) and bodies (q: place and quaternion)."""

from __future__ import annotations

import torch
from torch import Tensor

from diffloom.dynamics import Mechanics
from diffloom.interfaces import Control, State
from diffloom.testing.checks import Skip
from diffloom.testing.subjects import ModelSubject

#: A turn about a slanted axis: quaternion w, x, y, z.
TURN = torch.tensor([0.8, 0.36, -0.48, 0.0], dtype=torch.float64)


def is_body(state: State) -> bool:
    """Whether nodes are bodies (7 coordinates) rather than particles (3)."""
    return state.q.shape[1] == 7


def shaken(subject: ModelSubject) -> State:
    """The example under the values of "free", deformed and moving a little, so that forces act."""
    state = subject.model.initial_state(subject.params(**subject.values("free")))
    if state.q.dim() != 2 or state.q.shape[1] not in (3, 7):
        raise Skip(f"coordinates have the shape {tuple(state.q.shape)}: neither particles nor bodies")
    random = torch.Generator().manual_seed(11)
    size = 0.02 * subject.extent
    u = state.u + size * torch.randn(state.u.shape, generator=random, dtype=torch.float64)
    if is_body(state):
        return State(state.q, u)
    return State(state.q + size * torch.randn(state.q.shape, generator=random, dtype=torch.float64), u)


def shifted(state: State, shift: Tensor) -> State:
    """The state moved by ``shift`` (3,) [m]."""
    return State(torch.cat([state.q[:, :3] + shift, state.q[:, 3:]], dim=1), state.u)


def turned(state: State, turn: Tensor = TURN) -> State:
    """The state turned about the origin."""
    R = matrix(turn)
    q = torch.cat([state.q[:, :3] @ R.T, product(turn, state.q[:, 3:])], dim=1) if is_body(state) else state.q @ R.T
    return State(q, torch.cat([part @ R.T for part in state.u.split(3, dim=1)], dim=1))


def matrix(turn: Tensor) -> Tensor:
    """The rotation matrix (3, 3) of a unit quaternion."""
    w, x, y, z = turn.tolist()
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return torch.tensor(rows, dtype=torch.float64)


def product(a: Tensor, b: Tensor) -> Tensor:
    """Quaternion products of ``a`` (4,) with rows of ``b`` (n, 4)."""
    vector = b[:, 1:]
    w = a[0] * b[:, 0] - vector @ a[1:]
    v = a[0] * vector + b[:, :1] * a[1:] + torch.linalg.cross(a[1:].expand_as(vector), vector)
    return torch.cat([w[:, None], v], dim=1)


def forces(subject: ModelSubject, state: State) -> Tensor:
    """Forces (nodes, 3), or forces and torques (bodies, 6), under the values of "free"."""
    system = subject.model.dynamics(subject.params(**subject.values("free")), Control())
    if not isinstance(system, Mechanics):
        raise Skip(f"forces are needed for this, and the model brings {system.kind!r}")
    found = system.force(state.q, state.u, dt=subject.dt).detach()
    if not bool((found != 0.0).any()):
        raise Skip("no force acts on the example under the values of 'free', not even deformed and moving")
    return found
