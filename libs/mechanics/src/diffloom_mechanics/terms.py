"""Force terms of a mechanical system.

A compiled term is a pair of device functions, the force of one element or node and its adjoint, with the arrays they
read. One pair serves scalar CPU code, SIMD lanes and CUDA. A term may also be plain PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from diffloom.interfaces import InputError, MemorySpec
from diffloom_mechanics.node_sets import NamedTensor
from diffloom_mechanics.records import Device


@dataclass(frozen=True)
class ElementTerm:
    """Force law over elements that join an equal number of nodes each.

    Between two node sets, q, u and nodes of the second set follow those of the first, and so do out, adj_f, adj_q and
    adj_u.

    Args:
        name: Name of the term in messages.
        nodes: Corners (elements, corners), int32, in the node set ``on``; for elements that join two node sets, a
            mapping of both names to their corners.
        force: ``force(e, clock, q, u, nodes, *constants, *params, out)`` writes the force on each corner of element e
            into its own rows of ``out``. Ask for fields of the clock by name, such as ``clock.row``.
        adjoint: ``adjoint(e, clock, q, u, nodes, *constants, *params, adj_f, adj_q, adj_u, *adj_params)`` reads the
            cotangent adj_f (nodes, du) of the nodal forces, writes the rows of e in adj_q and adj_u, and adds to its
            own parameter rows. None: it is derived from the source of ``force``.
        constants: Arrays (elements, ...) without gradient.
        params: Names and tensors (elements,), (elements, c) or, when listed in ``per_step``, (1 or steps, elements).
        per_step: Names of parameters with one row per step.
        simd: False if the device functions branch on data.
        on: Name of the node set; None where there is one.
        memory: Internal variables of the elements, which the term owns. Its device functions then take an array
            ``memory`` (elements, numbers) before the constants, with the variables of element e side by side in row e.
            The adjoint takes ``adj_memory`` before the adj_params and adds to row e.
        update: ``update(e, clock, q, u, nodes, memory, *constants, *params)`` returns the numbers of row e of
            ``memory`` after a step, at the state q, u at the end of the step.
        update_adjoint: ``update_adjoint(e, clock, q, u, nodes, memory, *constants, *params, adj, adj_q, adj_u,
            adj_memory, *adj_params)`` takes the cotangents ``adj`` of these numbers, writes the rows of e in adj_q and
            adj_u, and adds to row e of adj_memory and of the adj_params. None: it is derived from ``update``.
    """

    name: str
    nodes: NDArray[np.int32] | Mapping[str, NDArray[np.int32]]
    force: Device
    adjoint: Device = None
    constants: tuple[NDArray[Any], ...] = ()
    params: tuple[NamedTensor, ...] = ()
    per_step: tuple[str, ...] = ()
    simd: bool = True
    on: str | None = None
    memory: tuple[MemorySpec, ...] = ()
    update: Device = None
    update_adjoint: Device = None

    def __post_init__(self) -> None:
        check_memory(self.name, self.memory, self.update)
        for nodes in self.corners.values():
            if not isinstance(nodes, np.ndarray) or nodes.ndim != 2 or nodes.dtype != np.int32:
                got = f"shape {nodes.shape} and dtype {nodes.dtype}" if isinstance(nodes, np.ndarray) else repr(nodes)
                raise InputError(f"term {self.name!r}: nodes has {got}; expected (elements, corners) of int32")
        if not 1 <= len(self.corners) <= 2 or len({len(nodes) for nodes in self.corners.values()}) != 1:
            raise InputError(
                f"term {self.name!r}: got corners of shapes {[nodes.shape for nodes in self.corners.values()]}; "
                "expected them in one or two node sets, with one row per element in each"
            )
        count = self.count
        for constant in self.constants:
            if len(constant) != count:
                raise InputError(f"term {self.name!r}: a constant has {len(constant)} rows for {count} elements")
        for name, value in self.params:
            stepped = name in self.per_step and value.dim() == 2
            check_rows(self.name, name, value, count, "elements", steps=stepped)

    @cached_property
    def corners(self) -> Mapping[str, NDArray[np.int32]]:
        """Corners in each node set, by its name."""
        return self.nodes if isinstance(self.nodes, Mapping) else {self.on or "": self.nodes}

    @cached_property
    def count(self) -> int:
        """Number of elements."""
        return len(next(iter(self.corners.values())))


@dataclass(frozen=True)
class TermStage:
    """Pass that runs before the node pass of a NodeTerm, in any order.

    Args:
        count: Number of items.
        body: Device function ``body(i, ...)`` for item i.
    """

    count: int
    body: Device


@dataclass(frozen=True)
class NodeTerm:
    """Force law on single nodes of one node set.

    With ``reads``, q and u of that node set follow q and u, and its adj_f follows adj_f. A force between nodes of two
    sets is a term on each set, and the adjoint of either takes both forces into account.

    Terms over pairs that are found at run time fill ``work`` in ``stages``, before the nodes gather from it;
    ``adjoint_stages`` follow the stages in the backward pass.

    Args:
        name: Name of the term in messages.
        force: ``force(i, clock, q, u, *constants, *params, *work)`` returns the du numbers of the force on node i.
        adjoint: ``adjoint(i, clock, q, u, *constants, *params, *work, adj_f, *adj_params)`` adds to its parameter rows
            and returns the cotangents of q and u of node i as two tuples. None: it is derived from the source of
            ``force``, unless the term has stages or reads a second set.
        constants: Arrays without gradient.
        params: Names and tensors (nodes, ...), one row per node.
        per_step: Names of parameters with one array per step, or one for all steps: (1 or steps, nodes, ...).
        work: Shape and "float" or "int" of each workspace.
        stages: Passes before the node pass, with the arguments (i, clock, q, u, *constants, *params, *work).
        adjoint_stages: Passes after ``stages`` in the backward pass, which also take adj_f and the adj_params.
        neighbours: Function from q (nodes, dq) to the pairs (pairs, 2) of nodes whose forces may depend on each other's
            state, each listed once. With it, implicit schemes assemble an exact matrix instead of iterating.
        on: Name of the node set; None where there is one.
        only: Flags (nodes,) of the nodes that the term acts on; None for all.
        reads: Name of a second node set whose state the term reads.
        shared: Names of parameters whose rows are not by node.
        count: Number of nodes the term was made for, if its constants depend on it; a set of another size is refused.
        by_node: True if constants and work also have one row per node, and the device functions use row i alone. Many
            scenes then run by the code of one scene; any other term gets the rows of one scene at a time.
        lanes: True if the device functions also serve scenes side by side, one per SIMD lane. They branch on constants,
            times and ``any_lane`` alone, index arrays by i, read rows of shared parameters by ``scene_row(i, k)``, and
            have neither stages nor integers in ``work``.
        memory: Internal variables of the nodes, which the term owns. Its device functions and stages then take an array
            ``memory`` (nodes, numbers) before the constants; adjoints take ``adj_memory`` before the adj_params and
            add to row i. Not together with ``reads``.
        update: ``update(i, clock, q, u, memory, *constants, *params)`` returns the numbers of row i of
            ``memory`` after a step, at the state q, u at the end of the step.
        update_adjoint: ``update_adjoint(i, clock, q, u, memory, *constants, *params, adj, adj_memory,
            *adj_params)`` takes the cotangents ``adj`` of these numbers, adds to row i of adj_memory and of the
            adj_params, and returns the cotangents of q and u of node i. None: it is derived from ``update``.
    """

    name: str
    force: Device
    adjoint: Device = None
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
    memory: tuple[MemorySpec, ...] = ()
    update: Device = None
    update_adjoint: Device = None

    def __post_init__(self) -> None:
        check_memory(self.name, self.memory, self.update)
        if self.memory and self.reads is not None:
            raise InputError(
                f"term {self.name!r}: got memory and reads={self.reads!r}; expected one of them. An update that reads "
                "two node sets belongs to an ElementTerm that joins them"
            )

    def check_nodes(self, count: int) -> None:
        """Check that the arrays fit a node set.

        Args:
            count: Number of nodes of the set.

        Raises:
            InputError: An array has another number of rows.
        """
        if self.count is not None and self.count != count:
            raise InputError(
                f"term {self.name!r}: it was made for {self.count} nodes, but acts on {count}; make it for these"
            )
        for name, value in self.params:
            if name in self.per_step or name not in self.shared:
                check_rows(self.name, name, value, count, "nodes", steps=name in self.per_step)
        if self.only is not None and self.only.shape != (count,):
            raise InputError(f"term {self.name!r}: only has shape {self.only.shape}; expected ({count},) flags")


@dataclass(frozen=True)
class TorchTerm:
    """Force law in plain PyTorch, differentiated by autograd.

    Args:
        name: Name of the term in messages.
        force: ``force(clock, q, u, *params) -> (nodes, du)``.
        params: Names and tensors that the force reads.
        on: Name of the node set; None where there is one.
    """

    name: str
    force: Callable[..., Tensor]
    params: tuple[NamedTensor, ...] = ()
    on: str | None = None


Term = ElementTerm | NodeTerm | TorchTerm


def check_memory(owner: str, memory: tuple[MemorySpec, ...], update: Device) -> None:
    """Raise InputError unless a term with internal variables, and no other, has an update, and their names differ."""
    if bool(memory) != (update is not None):
        got = "memory without update" if memory else "update without memory"
        raise InputError(f"term {owner!r}: got {got}; expected both, or neither")
    names = [spec.name for spec in memory]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"term {owner!r}: two internal variables are called {name!r}; give each its own name")


def count_memory(memory: tuple[MemorySpec, ...]) -> int:
    """Return the count of numbers that a node or element remembers."""
    return sum(spec.width for spec in memory)


def check_rows(owner: str, name: str, value: Tensor, count: int, what: str, *, steps: bool) -> None:
    """Raise InputError unless a parameter has one row per element or node (or for each of one or more steps)."""
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
