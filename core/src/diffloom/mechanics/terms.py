"""Force terms: what pulls on the nodes of a mechanical system.

A compiled term is a pair of device functions, the force of one element or node and its adjoint, together with the
arrays they read. The same pair serves the scalar CPU, SIMD lanes and CUDA. A term may also be plain PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from diffloom.interfaces import InputError

Device = Any  # a function made by diffloom.kernels.device
Named = tuple[str, Tensor]


@dataclass(frozen=True)
class ElementTerm:
    """A force law over elements that join the same number of nodes each.

    nodes: (elements, corners) int32. constants: arrays (elements, ...) without gradient. params: names and tensors
    (elements,), (elements, c) or, one row per step, (1 or steps, elements) when listed in ``per_step``.

    force(e, clock, q, u, nodes, *constants, *params, out) writes the force on each corner into element e's own slots.
    adjoint(e, clock, q, u, nodes, *constants, *params, adj_f, adj_q, adj_u, *adj_params) reads the cotangent of the
    nodal forces adj_f (nodes, du), writes slots of adj_q and adj_u, and adds to the parameter rows e owns.
    clock is (k, t, dt, implicit): step count, time at its start and step length [s], and 1 when the state is that at
    the end of an implicit step, else 0. simd=False if the bodies branch on data.
    """

    name: str
    nodes: NDArray[np.int32]
    force: Device
    adjoint: Device
    constants: tuple[NDArray[Any], ...] = ()
    params: tuple[Named, ...] = ()
    per_step: tuple[str, ...] = ()
    simd: bool = True

    def __post_init__(self) -> None:
        if self.nodes.ndim != 2 or self.nodes.dtype != np.int32:
            raise InputError(
                f"term {self.name!r}: nodes has shape {self.nodes.shape} and dtype {self.nodes.dtype}; "
                "expected (elements, corners) of int32"
            )
        count = len(self.nodes)
        for constant in self.constants:
            if len(constant) != count:
                raise InputError(f"term {self.name!r}: a constant has {len(constant)} rows for {count} elements")
        check_rows(self.name, self.params, self.per_step, count)

    @property
    def count(self) -> int:
        """Number of elements."""
        return len(self.nodes)


@dataclass(frozen=True)
class Stage:
    """Work before the node pass of a NodeTerm: body(i, ...) for i in 0..count-1, in any order."""

    count: int
    body: Device


@dataclass(frozen=True)
class NodeTerm:
    """A force law on single nodes. Parameters listed in ``per_step`` have one row a step, or one for all.

    force(i, clock, q, u, *constants, *params, *work) returns the du numbers of the force on node i.
    adjoint(i, clock, q, u, *constants, *params, *work, adj_f, *adj_params) adds to its parameter rows and returns
    the cotangents of node i's own state, as two tuples.

    Terms over pairs found on the way fill ``work`` (shape and "float" or "int" each) in ``stages``, whose bodies take
    (i, clock, q, u, *constants, *params, *work), before the nodes gather from it; ``adjoint_stages`` follow the stages
    in the backward pass and also take adj_f and the adj_params. neighbours(q), for q (nodes, dq), names the pairs
    (pairs, 2) of nodes whose forces may depend on each other's state, each once: with it implicit schemes assemble an
    exact matrix instead of iterating.
    """

    name: str
    force: Device
    adjoint: Device
    constants: tuple[NDArray[Any], ...] = ()
    params: tuple[Named, ...] = ()
    per_step: tuple[str, ...] = ()
    work: tuple[tuple[tuple[int, ...], Literal["float", "int"]], ...] = ()
    stages: tuple[Stage, ...] = ()
    adjoint_stages: tuple[Stage, ...] = ()
    neighbours: Callable[[NDArray[np.float64]], NDArray[np.int64]] | None = None


@dataclass(frozen=True)
class TorchTerm:
    """A force law in plain PyTorch: force(clock, q, u, *params) -> (nodes, du), differentiable by autograd."""

    name: str
    force: Callable[..., Tensor]
    params: tuple[Named, ...] = ()


Term = ElementTerm | NodeTerm | TorchTerm


def check_rows(owner: str, params: tuple[Named, ...], per_step: tuple[str, ...], count: int) -> None:
    """Raise unless every parameter has one row per element (or per step and element)."""
    for name, value in params:
        rows = value.shape[1] if name in per_step and value.dim() == 2 else value.shape[0] if value.dim() else 0
        if rows != count:
            raise InputError(
                f"term {owner!r}, parameter {name!r}: got shape {tuple(value.shape)} for {count} elements; "
                "expand it with diffloom.mechanics.spread first"
            )
