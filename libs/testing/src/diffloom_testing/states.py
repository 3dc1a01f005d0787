"""States and trajectories of any number of node sets, as checks take them."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from diffloom.interfaces import State, Trajectory


def places(found: State | Trajectory) -> Tensor:
    """All coordinates in a row."""
    return torch.cat([q.reshape(-1) for q, _ in found.sets.values()])


def speeds(found: State | Trajectory) -> Tensor:
    """All velocities in a row."""
    return torch.cat([u.reshape(-1) for _, u in found.sets.values()])


def numbers(found: State | Trajectory) -> Tensor:
    """All coordinates and velocities in a row."""
    return torch.cat([places(found), speeds(found)])


def changed(state: State, change: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]) -> State:
    """A state with q and u of every node set changed."""
    new = {name: change(q, u) for name, (q, u) in state.sets.items()}
    return State({k: q for k, (q, _) in new.items()}, {k: u for k, (_, u) in new.items()}, state.time)


def one_frame(state: State) -> Trajectory:
    """The trajectory of a single state."""
    first = next(iter(state.sets.values()))[0]
    q, u = ({name: pair[k][None] for name, pair in state.sets.items()} for k in (0, 1))
    return Trajectory(q, u, torch.zeros(1, dtype=first.dtype))


def state_of(like: State, q: Tensor, u: Tensor) -> State:
    """With the node sets of ``like`` and the numbers in rows q and u, as ``places`` and ``speeds`` make them."""
    return State(_split(like, q, 0), _split(like, u, 1), like.time)


def trajectory_of(like: Trajectory, q: Tensor) -> Trajectory:
    """A trajectory with the node sets and velocities of ``like`` and the coordinates in the row q."""
    return Trajectory(_split(like, q, 0), {name: u for name, (_, u) in like.sets.items()}, like.times)


def _split(like: State | Trajectory, row: Tensor, which: int) -> dict[str, Tensor]:
    shapes = {name: pair[which].shape for name, pair in like.sets.items()}
    parts = row.split([shape.numel() for shape in shapes.values()])
    return {name: part.reshape(shape) for (name, shape), part in zip(shapes.items(), parts, strict=True)}
