"""Records that pipelines pass to kernels: the arrays of a system by name, and the device functions of its parts."""

from __future__ import annotations

from typing import Any, NamedTuple

from diffloom_kernels import Const

Array = Any  # a tensor or numpy array, as compiled code sees it
Device = Any  # a function made by diffloom_kernels.device


class Clock(NamedTuple):
    """Time at which a force is evaluated.

    Args:
        row: Step, which selects values that change from step to step.
        time: Time of the evaluation [s].
        dt: Length of the step [s].
        implicit: 1 when the state is itself sought, as in an implicit step, else 0.
        start: Time at which the step starts [s].
    """

    row: int
    time: float
    dt: float
    implicit: int
    start: float


class Steps(NamedTuple):
    """Part of a rollout: ``length`` steps of ``dt`` [s] from step ``first`` on."""

    length: int
    first: int
    dt: float


class States(NamedTuple):
    """Coordinates and velocities of every node set: (states, nodes, dq) and (states, nodes, du).

    The memory of each term that has any, (states, nodes or elements, width), follows the coordinates in ``q``.
    """

    q: tuple[Array, ...]
    u: tuple[Array, ...]


class SlotRows(NamedTuple):
    """Rows that elements write for the nodes they join: forces, and cotangents of q and u."""

    force: Array
    q: Array
    u: Array


class Incoming(NamedTuple):
    """Rows that each node gathers: ``slots[starts[i]:starts[i + 1]]``, an even number of them."""

    starts: Array
    slots: Array


class NodeKind(NamedTuple):
    """Device functions of a kind of node (see NodeSet); ``force_matters`` is True if their adjoints read the force."""

    dq: Const
    du: Const
    acceleration: Device
    acceleration_adjoint: Device
    drift: Device
    drift_adjoint: Device
    rate: Device
    rate_adjoint: Device
    project: Device
    project_adjoint: Device
    kicked_drift: Device
    kicked_drift_adjoint: Device
    force_matters: bool


class MemoryRecord(NamedTuple):
    """Internal variables of a term, (nodes or elements, width): entry ``at`` of the tuple of coordinates.

    A term has a tuple of one of these, or of none.
    """

    at: Const
    width: Const
    size: int
    update: Device
    update_adjoint: Device


class StageRecord(NamedTuple):
    """Pass before a node pass: ``body(i, ...)`` for i < size."""

    size: int
    body: Device


class NodeTermRecord(NamedTuple):
    """Force on single nodes.

    only: flags (nodes,) of the nodes it acts on, or None. reads: number of a second node set, or None. memory: see
    ``MemoryRecord``.
    """

    force: Device
    adjoint: Device
    data: tuple[Array, ...]
    work: tuple[Array, ...]
    only: Array | None
    reads: Const | None
    stages: tuple[StageRecord, ...]
    adjoint_stages: tuple[StageRecord, ...]
    memory: tuple[MemoryRecord, ...]


class SceneStageRecord(NamedTuple):
    """Pass before a node pass in many scenes: ``body(i, ...)`` for i < each, in every scene."""

    size: int
    body: Device
    each: int


class SceneTermRecord(NamedTuple):
    """Force on single nodes of many scenes, which sees its own scene alone.

    fixed: arrays that are equal in all scenes. data, work: with a leading axis of scenes. ``nodes``, ``others``: number
    of rows of one scene in the node set and in the set that it reads.
    """

    force: Device
    adjoint: Device
    fixed: tuple[Array, ...]
    data: tuple[Array, ...]
    work: tuple[Array, ...]
    only: Array | None
    reads: Const | None
    stages: tuple[SceneStageRecord, ...]
    adjoint_stages: tuple[SceneStageRecord, ...]
    memory: tuple[MemoryRecord, ...]
    nodes: int
    others: int


class NodesRecord(NamedTuple):
    """Node set by its number: its arrays, the rows its nodes gather (None without elements), and the forces on single
    nodes. ``remembered``: the rows they gather from updates of elements' memory, or None.
    """

    number: Const
    kind: NodeKind
    size: int
    arrays: tuple[Array, ...]
    incoming: Incoming | None
    rows: SlotRows | None
    terms: tuple[NodeTermRecord | SceneTermRecord, ...]
    remembered: RememberedRows | None


class RememberedRows(NamedTuple):
    """Rows that nodes gather after the updates of elements' memory were transposed."""

    incoming: Incoming
    rows: SlotRows


class ElementEnd(NamedTuple):
    """Corners of a term's elements in one node set, and the slots they write to; ``update_slots`` is for updates of
    their memory, or None.
    """

    of: Const
    nodes: Array
    slots: SlotRows
    update_slots: SlotRows | None


class ElementRecord(NamedTuple):
    """Force over elements."""

    force: Device
    adjoint: Device
    lanes: bool
    size: int
    ends: tuple[ElementEnd, ...]
    data: tuple[Array, ...]
    memory: tuple[MemoryRecord, ...]


class SystemRecord(NamedTuple):
    """Whole system: node sets, element terms, and the places of the terms' memory among the coordinates."""

    sets: tuple[NodesRecord, ...]
    elements: tuple[ElementRecord, ...]
    memory: tuple[Const, ...]


class NodesGrads(NamedTuple):
    """Summed cotangents of a node set's arrays and of its terms' parameters."""

    arrays: tuple[Array, ...]
    terms: tuple[tuple[Array, ...], ...]


class Grads(NamedTuple):
    """Cotangents of everything differentiable in a system."""

    sets: tuple[NodesGrads, ...]
    elements: tuple[tuple[Array, ...], ...]


class StateCotangents(NamedTuple):
    """Cotangents of the state of a backward pass, and of the forces there, for every node set.

    Shapes: (nodes, dq), (nodes, du) and (nodes, du). Rows of three numbers are four wide, one register each.
    """

    q: tuple[Array, ...]
    u: tuple[Array, ...]
    f: tuple[Array, ...]


class FrameRecord(NamedTuple):
    """Cotangents of the saved states: (frames, nodes, dq) and (frames, nodes, du).

    of_step: (length + 1,) frame as which each step of this part is saved, or -1.
    """

    of_step: Array
    q: tuple[Array, ...]
    u: tuple[Array, ...]
