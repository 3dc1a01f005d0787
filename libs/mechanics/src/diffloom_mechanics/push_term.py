"""External forces on particles in windows of time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from diffloom.interfaces import InputError
from diffloom.validation import whole_number
from diffloom_mechanics.terms import NodeTerm


@dataclass(frozen=True)
class Push:
    """A force on one particle from ``start`` to ``end`` [s]; an impulse J is force = J / (end - start)."""

    node: int
    start: float
    end: float

    def __post_init__(self) -> None:
        if not self.end > self.start:
            raise InputError(f"Push on node {self.node}: it starts at {self.start} s and ends at {self.end} s; "
                             "expected an end after the start")  # fmt: skip


def pushes(windows: Sequence[Push], force: Tensor, count: int, name: str = "pushes") -> NodeTerm:
    """The term of external forces.

    force: (windows, 3) [N], differentiable. count: number of particles. A step that lies only partly in a window
    takes that part of the force, so the impulse does not depend on the step length.
    """
    from diffloom_mechanics.push_kernels import window_force, window_force_adjoint

    nodes = np.array([whole_number("Push.node", w.node) for w in windows], dtype=np.int64)
    if len(nodes) and not 0 <= nodes.min() <= nodes.max() < count:
        raise InputError(f"pushes: nodes {nodes.min()} to {nodes.max()} were given; expected 0 to {count - 1}")
    if tuple(force.shape) != (len(windows), 3):
        raise InputError(
            f"pushes: force has shape {tuple(force.shape)}; expected ({len(windows)}, 3), one row a window"
        )
    starts = np.zeros(count + 1, np.int32)
    np.cumsum(np.bincount(nodes, minlength=count), out=starts[1:])
    order = np.argsort(nodes, kind="stable").astype(np.int32)
    real = torch.zeros(0, dtype=force.dtype).numpy().dtype
    return NodeTerm(
        name,
        force=window_force,
        adjoint=window_force_adjoint,
        constants=(
            starts, order, np.array([w.start for w in windows], real), np.array([w.end for w in windows], real),
        ),
        params=(("force", force),),
        shared=("force",),
        count=count,
    )  # fmt: skip
