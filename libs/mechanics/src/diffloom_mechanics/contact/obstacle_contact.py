"""Obstacles: what particles and rigid bodies of any model touch, given the signed distance of a shape."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from diffloom.fixed_order import broadcast
from diffloom.interfaces import InputError, ParamSpec
from diffloom_mechanics import TermContext
from diffloom_mechanics.contact.ground_plane import pack_contact_rows
from diffloom_mechanics.contact.law import DEFAULT_LAW, resolve_contact_law
from diffloom_mechanics.node_sets import TouchingLinks
from diffloom_mechanics.terms import NodeTerm

if TYPE_CHECKING:
    from diffloom_mechanics.node_sets import NodeSet

#: Contact of a model that has none of its own: a particle rests about 2 hundredths of a millimetre deep, whatever its
#: mass, bounces back with half of its speed or more, and follows steps of up to 3 ms.
FREQUENCY, DAMPING = 600.0, 0.4


def _nothing(kind: type[Any]) -> NDArray[Any]:
    return np.zeros(1, kind)


@dataclass(frozen=True)
class ObstacleShape:
    """The device functions of a shape, and the constants they read.

    distance(i, p, size, layout, table) -> d, n: signed distance [m], negative inside, and unit normal at the point p in
    the shape's own frame; ``size`` (nodes, sizes) holds the sizes in row i, layout and table are arrays of whole and of
    real numbers. adjoint(i, p, size, layout, table, adj_d, adj_n, adj_size) -> adj_p: the cotangent of p for those of
    d and n, the derivative of the normal included; adds to row i of adj_size.
    slope: the most that d changes per metre: 1 for exact distances, infinite where that is not known.
    """

    distance: Any
    adjoint: Any
    layout: NDArray[np.int32] = field(default_factory=lambda: _nothing(np.int32))
    table: NDArray[np.float64] = field(default_factory=lambda: _nothing(np.float64))
    slope: float = 1.0


@dataclass(frozen=True)
class ObstaclePose:
    """Where a shape stands: place (3,) [m], and its axes as a rotation matrix (3, 3); the world's when not given."""

    place: Tensor
    turn: Tensor | None = None


def make_obstacle_specs(contact: object = DEFAULT_LAW, **given: float | None) -> tuple[ParamSpec, ...]:
    """Contact parameters of an obstacle under a contact law, by name; those not given are the model's own, as for its
    ground.

    A model without contact parameters gets them from its masses.
    """
    law = resolve_contact_law(contact)
    told = {name: words for spec in law.normal_specs for name, words in spec.not_to_be_confused}
    for name in sorted(set(given) - set(law.names) - {spec.name for spec in law.extra_specs}):
        raise InputError(f"obstacle: got {name}; {told.get(name) or 'expected ' + ', '.join(law.names)}")
    own = "; the model's own if not given"
    found = tuple(
        replace(spec, default=given.get(spec.name), doc=f"{spec.doc}{own}", shape=("nodes",)) for spec in law.specs
    )
    return (*found, *(replace(spec, default=given.get(spec.name), shape=("nodes",)) for spec in law.extra_specs))


def collect_contact_values(
    params: Mapping[str, Tensor], context: TermContext, contact: object = DEFAULT_LAW
) -> dict[str, Tensor]:
    """The contact parameters of a law, (nodes,) each: as given, else the model's own, else by the masses of the nodes
    or as the law has them by default."""
    law = resolve_contact_law(contact)
    by_mass = {
        "contact_stiffness": FREQUENCY**2, "contact_damping": DAMPING * FREQUENCY, "friction_stiffness": FREQUENCY,
    }  # fmt: skip
    given, own = law.resolve(params), law.resolve(context.params)
    found = {}
    for spec in law.specs:
        value = given.get(spec.name)
        if value is None:
            value = own.get(spec.name)
        if value is None:
            factor = by_mass.get(spec.name)
            value = torch.tensor(spec.default, dtype=context.dtype) if factor is None else context.masses * factor
        found[spec.name] = broadcast(value, (context.count,))
    return found


def refuse_obstacles(nodes: NodeSet) -> str | None:
    """Why nodes cannot touch an obstacle, or None: they can when they are particles, bodies with contact points or
    links that touch."""
    if nodes.name == "particles" and nodes.dq == nodes.du == 3:
        return None
    if nodes.dq == 7 and nodes.du == 6 and nodes.contact_points is not None:
        return None
    if isinstance(nodes.touches, TouchingLinks):
        return None
    return (
        "an obstacle is touched by particles (as in fem, cloth and springs), by rigid bodies with contact points (as "
        "in rigid) and by links that touch (articulated with touches = true); these nodes are "
        f"{nodes.name!r}, with {nodes.dq} coordinates and {nodes.du} velocities"
    )


def obstacle(
    name: str, shape: ObstacleShape, pose: ObstaclePose, size: Tensor, params: Mapping[str, Tensor],
    context: TermContext, contact: object = DEFAULT_LAW,
) -> NodeTerm:  # fmt: skip
    """Contact of all nodes with a shape, under a contact law.

    size: (sizes,), what the shape's device functions read. params: those of ``make_obstacle_specs`` of the same law, as
    far as given. Exact gradients by pose, size, contact parameters and the nodes' state.
    """
    from diffloom_mechanics.contact.obstacle_kernels import body_obstacle, particle_obstacle

    reason = refuse_obstacles(context.nodes)
    if reason is not None:
        raise InputError(f"term {name!r}: {reason}")
    if isinstance(context.nodes.touches, TouchingLinks):
        law = resolve_contact_law(contact)
        names = {*law.names, *(spec.name for spec in law.extra_specs)}
        given = {key: value for key, value in params.items() if key in names}
        made: NodeTerm = context.nodes.touches.term(name, shape, pose, size, given, law)
        return replace(made, on=context.on)
    points, count = context.nodes.contact_points, context.count
    turn = torch.eye(3, dtype=context.dtype) if pose.turn is None else pose.turn
    make = particle_obstacle if points is None else body_obstacle
    law = resolve_contact_law(contact)
    force, adjoint = make(shape.distance, shape.adjoint, law.normal(), law.friction.functions())
    own = () if points is None else (np.array([shape.slope]), *points.arrays)
    return NodeTerm(
        name,
        force=force,
        adjoint=adjoint,
        constants=(*own, shape.layout, shape.table),
        params=(
            ("place", broadcast(pose.place, (count, 3))),
            ("turn", broadcast(turn.reshape(9), (count, 9))),
            ("size", broadcast(size, (count, len(size)))),
            *pack_contact_rows(law, collect_contact_values(params, context, law), count),
        ),
        on=context.on,
    )
