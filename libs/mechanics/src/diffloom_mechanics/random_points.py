"""Random points at which device functions of a system are evaluated as plain Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from diffloom.interfaces import State
from diffloom_kernels.derive import interpreted
from diffloom_mechanics.binding import Binding, CompiledSystem
from diffloom_mechanics.node_sets import NodeSet
from diffloom_mechanics.records import Clock

#: Number of random states that are tried.
STATES = 6


class Points:
    """Random states and cotangents of a system; the same for the same number."""

    def __init__(self, system: CompiledSystem, state: State) -> None:
        self.system = system
        tensors = [_perturbed(t, k) for k, t in enumerate(system.tensors)]
        self.record = Binding(system, tensors).record
        self.start = list(state.sets.values())

    def at(self, number: int) -> Point:
        """Return a point; later ones are farther from the start."""
        return Point(self, number)


class Point:
    """One random state, with random numbers for cotangents."""

    def __init__(self, points: Points, number: int) -> None:
        self.points, self.random = points, np.random.default_rng(number)
        scale = (0.01, 0.05, 0.2, 0.01, 0.05, 0.5)[number % STATES]
        sink = 0.0 if number < STATES // 2 else 0.5
        self.q, self.u = [], []
        for (q, u), (_, nodes) in zip(points.start, points.system.sets, strict=True):
            here = as_own_array(q) + scale * self.random.normal(size=tuple(q.shape))
            here[:, min(1, here.shape[1] - 1)] -= sink * self.random.random()
            self.q.append(_projected(nodes, here))
            self.u.append(as_own_array(u) + self.random.normal(size=tuple(u.shape)))
        self.clock = Clock(0, 0.004, 1e-3, number % 2, 0.003)

    def normal(self, *shape: int) -> NDArray[np.float64]:
        """Return random numbers."""
        return self.random.normal(size=shape)

    def row(self, width: int) -> tuple[Any, ...]:
        """Return a tuple of random numbers."""
        return tuple(self.random.normal(size=width))


def flat_numbers(value: Any) -> list[float]:
    """Return the numbers of nested tuples."""
    return [n for entry in value for n in flat_numbers(entry)] if isinstance(value, tuple) else [float(value)]


def as_own_array(value: Any) -> NDArray[Any]:
    """Return a tensor as a numpy array of its own."""
    return np.array(value.detach().numpy() if isinstance(value, Tensor) else value)


def _perturbed(value: Tensor, number: int) -> Tensor:
    """Return a tensor with entries changed by up to a tenth."""
    generator = torch.Generator().manual_seed(number)
    return value.detach() * (1.0 + 0.1 * torch.rand(value.shape, generator=generator, dtype=value.dtype))


def _projected(nodes: NodeSet, q: NDArray[Any]) -> NDArray[Any]:
    """Return valid coordinates, such as those with unit quaternions."""
    if nodes.motion is None or nodes.motion.project is None:
        return q
    project = interpreted(nodes.motion.project)
    return np.array([flat_numbers(project(i, tuple(row))) for i, row in enumerate(q)])
