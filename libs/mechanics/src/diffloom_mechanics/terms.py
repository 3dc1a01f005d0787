"""Force terms: what pulls on the nodes of a mechanical system.

A compiled term is a pair of device functions, the force of one element or node and its adjoint, together with the
arrays they read. The same pair serves the scalar CPU, SIMD lanes and CUDA. A term may also be plain PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from diffloom.interfaces import InputError
from diffloom_mechanics.node_sets import NamedTensor
from diffloom_mechanics.records import Device


@dataclass(frozen=True)
class ElementTerm:
    """A force law over elements that join the same number of nodes each.

    nodes: (elements, corners) int32, corners in the node set ``on`` (which may be left out where there is one). For
    elements that join two node sets: a mapping of both their names to such arrays.
    constants: arrays (elements, ...) without gradient. params: names and tensors (elements,), (elements, c) or, one row
    per step, (1 or steps, elements) when listed in ``per_step``.

    force(e, clock, q, u, nodes, *constants, *params, out) writes the force on each corner into element e's own slots.
    adjoint(e, clock, q, u, nodes, *constants, *params, adj_f, adj_q, adj_u, *adj_params) reads the cotangent of the
    nodal forces adj_f (nodes, du), writes slots of adj_q and adj_u, and adds to the parameter rows e owns. Between two
    sets the second's q, u, nodes follow the first's, and so with out, adj_f, and (adj_q, adj_u).
    clock: see Clock; it is asked for by name, such as clock.row for values per step. simd=False if the bodies branch on
    data.
    """

    name: str
    nodes: NDArray[np.int32] | Mapping[str, NDArray[np.int32]]
    force: Device
    adjoint: Device
    constants: tuple[NDArray[Any], ...] = ()
    params: tuple[NamedTensor, ...] = ()
    per_step: tuple[str, ...] = ()
    simd: bool = True
    on: str | None = None

    def __post_init__(self) -> None:
        for nodes in self.corners.values():
            if not isinstance(nodes, np.ndarray) or nodes.ndim != 2 or nodes.dtype != np.int32:
                got = f"shape {nodes.shape} and dtype {nodes.dtype}" if isinstance(nodes, np.ndarray) else repr(nodes)
                raise InputError(f"term {self.name!r}: nodes has {got}; expected (elements, corners) of int32")
        if not 1 <= len(self.corners) <= 2 or len({len(nodes) for nodes in self.corners.values()}) != 1:
            raise InputError(f"term {self.name!r}: expected corners in one or two node sets, a row an element in each")
        count = self.count
        for constant in self.constants:
            if len(constant) != count:
                raise InputError(f"term {self.name!r}: a constant has {len(constant)} rows for {count} elements")
        for name, value in self.params:
            stepped = name in self.per_step and value.dim() == 2
            check_rows(self.name, name, value, count, "elements", steps=stepped)

    @cached_property
    def corners(self) -> Mapping[str, NDArray[np.int32]]:
        """The corners in each node set."""
        return self.nodes if isinstance(self.nodes, Mapping) else {self.on or "": self.nodes}

    @cached_property
    def count(self) -> int:
        """Number of elements."""
        return len(next(iter(self.corners.values())))


@dataclass(frozen=True)
class TermStage:
    """Work before the node pass of a NodeTerm: body(i, ...) for i in 0..count-1, in any order."""

    count: int
    body: Device


@dataclass(frozen=True)
class NodeTerm:
    """A force law on single nodes of the node set ``on``, or of ``only`` (nodes,) some of them, as flags.

    Every parameter has a row for each node of the set, (nodes, ...); those listed in ``per_step`` have one such array a
    step, or one for all, (1 or steps, nodes, ...); those listed in ``shared`` have whatever rows the bodies ask for.
    count: of the nodes it was made for, where its constants depend on that; it is refused on a set of another size.

    force(i, clock, q, u, *constants, *params, *work) returns the du numbers of the force on node i.
    adjoint(i, clock, q, u, *constants, *params, *work, adj_f, *adj_params) adds to its parameter rows and returns
    the cotangents of node i's own state, as two tuples. With ``reads``, the name of another node set, its q and u
    follow q and u, and its adj_f follows adj_f: a force between nodes of two sets is a term on each, and the adjoint of
    either takes both forces into account.

    Terms over pairs found on the way fill ``work`` (shape and "float" or "int" each) in ``stages``, whose bodies take
    (i, clock, q, u, *constants, *params, *work), before the nodes gather from it; ``adjoint_stages`` follow the stages
    in the backward pass and also take adj_f and the adj_params. neighbours(q), for q (nodes, dq), names the pairs
    (pairs, 2) of nodes whose forces may depend on each other's state, each once: with it implicit schemes assemble an
    exact matrix instead of iterating.

    by_node: constants and work have one row a node too, and the bodies read and write those of node i alone. Many
    scenes then run by the very code of one; any other term is shown the rows of one scene at a time.

    lanes: the bodies also serve scenes side by side, one a SIMD lane. They branch on constants, times and ``anyl``
    alone, index arrays by i, read rows of shared parameters by ``beside(i, k)``, and have neither stages nor whole
    numbers in ``work``.
    """

    name: str
    force: Device
    adjoint: Device
    constants: tuple[NDArray[Any], ...] = ()
    params: tuple[NamedTensor, ...] = ()
    per_step: tuple[str, ...] = ()
    work: tuple[tuple[tuple[int, ...], Literal["float", "int"]], ...] = ()
    stages: tuple[TermStage, ...] = ()
    adjoint_stages: tuple[TermStage, ...] = ()
    neighbours: Callable[[NDArray[np.float64]], NDArray[np.int64]] | None = None
    on: str | None = None
    only: NDArray[np.bool_] | None = None
    reads: str | None = None
    shared: tuple[str, ...] = ()
    count: int | None = None
    by_node: bool = False
    lanes: bool = False

    def check_nodes(self, count: int) -> None:
        """Raise unless its arrays fit a set of ``count`` nodes."""
        if self.count is not None and self.count != count:
            raise InputError(f"term {self.name!r}: it was made for {self.count} nodes and is added to {count}")
        for name, value in self.params:
            if name in self.per_step or name not in self.shared:
                check_rows(self.name, name, value, count, "nodes", steps=name in self.per_step)
        if self.only is not None and self.only.shape != (count,):
            raise InputError(f"term {self.name!r}: only has shape {self.only.shape}; expected ({count},) flags")


@dataclass(frozen=True)
class TorchTerm:
    """A force law in plain PyTorch: force(clock, q, u, *params) -> (nodes, du), differentiable by autograd."""

    name: str
    force: Callable[..., Tensor]
    params: tuple[NamedTensor, ...] = ()
    on: str | None = None


Term = ElementTerm | NodeTerm | TorchTerm


def check_rows(owner: str, name: str, value: Tensor, count: int, what: str, *, steps: bool) -> None:
    """Raise unless a parameter has one row per element or node (or for each of one or more steps)."""
    axis = int(steps)
    rows = int(value.shape[axis]) if value.dim() > axis else 0
    if rows != count or (steps and value.shape[0] < 1):
        wanted = f"(1 or steps, {count}, ...)" if steps else f"({count}, ...)"
        raise InputError(
            f"term {owner!r}, parameter {name!r}: got shape {tuple(value.shape)} for {count} {what}, "
            f"expected {wanted}; "
            "expand it with diffloom.fixed_order.broadcast first"
            + (", or list it in shared if its rows are not by node" if what == "nodes" else "")
        )
