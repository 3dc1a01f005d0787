"""What pipelines hand to kernels: the arrays of a system by name, and the functions of its parts."""

from __future__ import annotations

from typing import Any, NamedTuple

from diffloom_kernels import Const

Array = Any  # a tensor or numpy array, as compiled code sees it
Device = Any  # a function made by diffloom_kernels.device


class Clock(NamedTuple):
    """When a force is asked for.

    row: the step count, by which per-step values are chosen. time: the instant [s]. dt: length of the step [s].
    implicit: 1 when the state asked about is itself sought, as in an implicit step, else 0. start: of the step [s].
    """

    row: int
    time: float
    dt: float
    implicit: int
    start: float


class Steps(NamedTuple):
    """A part of a rollout: ``length`` steps of ``dt`` [s] from step ``first`` on."""

    length: int
    first: int
    dt: float


class States(NamedTuple):
    """Coordinates and velocities of every node set: (states, nodes, dq) and (states, nodes, du)."""

    q: tuple[Array, ...]
    u: tuple[Array, ...]


class SlotRows(NamedTuple):
    """What elements wrote for the nodes they join, row by row: forces, and cotangents of q and u."""

    force: Array
    q: Array
    u: Array


class Incoming(NamedTuple):
    """Which rows a node gathers: ``slots[starts[i]:starts[i + 1]]``, an even number of them."""

    starts: Array
    slots: Array


class NodeKind(NamedTuple):
    """The functions of a kind of node (see NodeSet); ``force_matters``: whether their adjoints need the force."""

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


class StageRecord(NamedTuple):
    """Work before a node pass: body(i, ...) for i < size."""

    size: int
    body: Device


class NodeTermRecord(NamedTuple):
    """A force on single nodes. only: (nodes,) flags of those it acts on, or None. reads: another node set, or None."""

    force: Device
    adjoint: Device
    data: tuple[Array, ...]
    work: tuple[Array, ...]
    only: Array | None
    reads: Const | None
    stages: tuple[StageRecord, ...]
    adjoint_stages: tuple[StageRecord, ...]


class SceneStageRecord(NamedTuple):
    """Work before a node pass in many scenes: body(i, ...) for i < each, in every scene."""

    size: int
    body: Device
    each: int


class SceneTermRecord(NamedTuple):
    """A force on single nodes of many scenes, which sees its own scene alone.

    fixed: arrays that are the same in all scenes. data, work: with a leading axis of scenes. nodes, others: rows of one
    scene in the node set and in the one that it reads.
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
    nodes: int
    others: int


class NodesRecord(NamedTuple):
    """A node set, by its number: its arrays, what its nodes gather (None when nothing joins them) and the forces on
    single nodes."""

    number: Const
    kind: NodeKind
    size: int
    arrays: tuple[Array, ...]
    incoming: Incoming | None
    rows: SlotRows | None
    terms: tuple[NodeTermRecord | SceneTermRecord, ...]


class ElementEnd(NamedTuple):
    """The corners of a term's elements in one node set, and the slots they write to."""

    of: Const
    nodes: Array
    slots: SlotRows


class ElementRecord(NamedTuple):
    """A force over elements."""

    force: Device
    adjoint: Device
    lanes: bool
    size: int
    ends: tuple[ElementEnd, ...]
    data: tuple[Array, ...]


class SystemRecord(NamedTuple):
    """A whole system."""

    sets: tuple[NodesRecord, ...]
    elements: tuple[ElementRecord, ...]


class NodesGrads(NamedTuple):
    """Cotangents of a node set's arrays and of its terms' parameters, summed up."""

    arrays: tuple[Array, ...]
    terms: tuple[tuple[Array, ...], ...]


class Grads(NamedTuple):
    """Cotangents of everything differentiable in a system."""

    sets: tuple[NodesGrads, ...]
    elements: tuple[tuple[Array, ...], ...]


class StateCotangents(NamedTuple):
    """Of the state that a backward pass is at and of the forces there, for every node set: (nodes, dq), (nodes, du)
    and (nodes, du). Rows of three numbers are four wide, a register each."""

    q: tuple[Array, ...]
    u: tuple[Array, ...]
    f: tuple[Array, ...]


class FrameRecord(NamedTuple):
    """Cotangents of the saved states: (frames, nodes, dq) and (frames, nodes, du).

    of_step: (length + 1,) the frame that a step of this part is saved as, or -1.
    """

    of_step: Array
    q: tuple[Array, ...]
    u: tuple[Array, ...]
