"""Contact of particles and rigid bodies of any model with an obstacle, given the signed distance of its shape."""

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

#: Contact [1/s] of a model that has none of its own: a particle of any mass rests about 0.02 mm deep, bounces back with
#: at least half of its speed, and is stable at steps of up to 3 ms.
FREQUENCY, DAMPING = 600.0, 0.4


def _make_empty(kind: type[Any]) -> NDArray[Any]:
    """Return an empty constant."""
    return np.zeros(1, kind)


@dataclass(frozen=True)
class ObstacleShape:
    """Device functions of a shape, with the constants they read.

    Args:
        distance: ``distance(i, p, size, layout, table) -> d, n``: signed distance [m], negative inside, and unit normal
            at the point p in the frame of the shape. Row i of ``size`` (nodes, sizes) holds its sizes.
        adjoint: ``adjoint(i, p, size, layout, table, adj_d, adj_n, adj_size) -> adj_p``: transpose of ``distance``,
            with the derivative of the normal; adds to row i of ``adj_size``. Derived from the source if None.
        layout: Array of integers that both read.
        table: Array of reals that both read.
        slope: Largest change of d per metre: 1 for exact distances, infinite if unknown.
    """

    distance: Any
    adjoint: Any = None
    layout: NDArray[np.int32] = field(default_factory=lambda: _make_empty(np.int32))
    table: NDArray[np.float64] = field(default_factory=lambda: _make_empty(np.float64))
    slope: float = 1.0

    def complete(self) -> ObstacleShape:
        """Return the shape with an adjoint, which is derived if it brings none.

        Returns:
            The shape.
        """
        if self.adjoint is not None:
            return self
        from diffloom_mechanics.contact.derived_laws import derive_distance_adjoint

        return replace(self, adjoint=derive_distance_adjoint(self.distance))


@dataclass(frozen=True)
class ObstaclePose:
    """Pose of a shape.

    Args:
        place: Place (3,) [m].
        turn: Rotation matrix (3, 3) of its axes; None for the world axes.
    """

    place: Tensor
    turn: Tensor | None = None


def make_obstacle_specs(contact: object = DEFAULT_LAW, **given: float | None) -> tuple[ParamSpec, ...]:
    """Return the contact parameters of an obstacle.

    Parameters without a value are those of the model. A model without contact parameters gets them from its masses.

    Args:
        contact: Contact law, its name, or a table.
        given: Defaults by parameter name; None for the model's own.

    Returns:
        The specs.

    Raises:
        InputError: The law has no parameter of a name in ``given``.
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
    """Return the contact parameters of a law for each node: those given, else the model's, else values by mass or
    defaults.

    Args:
        params: Parameters that are given.
        context: Model and nodes.
        contact: Contact law, its name, or a table.

    Returns:
        Values (nodes,) by parameter name.
    """
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
    """Return the reason why nodes cannot touch an obstacle.

    Particles, bodies with contact points, and links that touch can.

    Args:
        nodes: Node set to test.

    Returns:
        The reason, or None.
    """
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
    """Return the contact of all nodes with a shape, with exact gradients by pose, size, contact parameters and state.

    Args:
        name: Name of the term.
        shape: Device functions of the shape.
        pose: Its pose.
        size: Sizes (sizes,) that the device functions read.
        params: Parameters of ``make_obstacle_specs`` that are given.
        context: Model and nodes.
        contact: Contact law, its name, or a table.

    Returns:
        The force term.

    Raises:
        InputError: The nodes cannot touch an obstacle.
    """
    from diffloom_mechanics.contact.obstacle_kernels import body_obstacle, particle_obstacle

    reason = refuse_obstacles(context.nodes)
    if reason is not None:
        raise InputError(f"term {name!r}: {reason}")
    shape = shape.complete()
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
    force, adjoint = make(shape.distance, shape.adjoint, *law.device_functions())
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
