"""Contacts of a world: pairs of bodies, their laws, and the parameters of a pair."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from diffloom.fixed_order import broadcast
from diffloom.interfaces import InputError, Params, ParamSpec
from diffloom.naming import check_name
from diffloom.transforms import unwrap_values
from diffloom_geometry import assemble
from diffloom_mechanics import NodeSet, TermContext
from diffloom_mechanics.contact import (
    ContactLaw,
    TouchingBodies,
    TouchingLinks,
    TouchingSkin,
    collect_contact_values,
    resolve_contact_law,
)
from diffloom_physics_world.bodies import WorldBody

_SETTINGS = ("between", "name", "touch", "law", "thickness", "triangles")


@dataclass(frozen=True)
class WorldContact:
    """Contact of two bodies.

    Args:
        name: Name, in front of the pair's parameters.
        between: Names of the bodies.
        law: Contact law.
        thickness: Distance from its surface at which a body touches [m]; None for 0 between particles and rigid bodies
            and for a tenth of an edge of triangles.
        triangles: True if points of rigid bodies touch the triangles of particles; None for True if these are a sheet.
        given: Values of contact parameters; the remaining ones follow from those of the bodies.
    """

    name: str
    between: tuple[str, str]
    law: ContactLaw
    thickness: float | None = None
    triangles: bool | None = None
    given: Mapping[str, Any] = field(default_factory=dict)

    @property
    def specs(self) -> tuple[ParamSpec, ...]:
        """Parameters of the pair, without its name in front; all are optional."""
        both = f"between {self.between[0]} and {self.between[1]}; by the bodies' own if not given"
        found = (*self.law.specs, *self.law.extra_specs)
        return tuple(
            replace(spec, default=self.given.get(spec.name), doc=f"{spec.doc}, {both}", shape=()) for spec in found
        )


def read_contacts(
    given: Sequence[Mapping[str, Any]] | bool | None, bodies: Sequence[WorldBody], able: Mapping[str, bool], law: object
) -> tuple[WorldContact, ...]:
    """Return the contacts of a world: every pair of bodies that can touch, as the tables say; none for False.

    Args:
        given: Tables with the key ``between``, None or False.
        bodies: The bodies.
        able: Flags by name of the bodies that can touch.
        law: Contact law of pairs without a law of their own.
    """
    if given is False:
        return ()
    tables = {} if given is None or given is True else _tables(given, [body.name for body in bodies])
    found = []
    for a, b in itertools.combinations([body.name for body in bodies], 2):
        table = tables.get(frozenset((a, b)))
        if table is None and able[a] and able[b]:
            found.append(WorldContact(f"{a}_{b}", (a, b), resolve_contact_law(law)))
        elif table is not None and table.get("touch", True):
            for name in (a, b):
                if not able[name]:
                    raise InputError(f"contacts: body {name!r} has neither particles nor shapes to touch with")
            found.append(_contact(table, (a, b), law))
    for contact in found:
        check_name("contacts", contact.name)
        if contact.name in [body.name for body in bodies] or sum(c.name == contact.name for c in found) > 1:
            raise InputError(f"contacts: the name {contact.name!r} is in use already; give this contact another name")
    return tuple(found)


def _tables(given: Sequence[Mapping[str, Any]], names: list[str]) -> dict[frozenset[str], Mapping[str, Any]]:
    """Return the tables by the pair that they describe."""
    tables: dict[frozenset[str], Mapping[str, Any]] = {}
    for number, table in enumerate(given):
        pair = table.get("between")
        if not isinstance(pair, (list, tuple)) or len(set(pair)) != 2 or not set(pair) <= set(names):
            raise InputError(
                f"contacts[{number}]: between: got {pair!r}; expected two of the bodies {', '.join(names)}"
            )
        if frozenset(pair) in tables:
            raise InputError(f"contacts[{number}]: a second table for {pair[0]!r} and {pair[1]!r}; give one")
        tables[frozenset(pair)] = table
    return tables


def _contact(table: Mapping[str, Any], pair: tuple[str, str], law: object) -> WorldContact:
    """Return the contact of two bodies that a table describes."""
    own = resolve_contact_law(table.get("law", law))
    values = {key: value for key, value in table.items() if key not in _SETTINGS}
    known = [spec.name for spec in (*own.specs, *own.extra_specs)]
    for key in values:
        if key not in known:
            raise InputError(
                f"contacts between {pair[0]} and {pair[1]}: got {key!r}; expected {', '.join((*_SETTINGS, *known))}"
            )
    thickness = table.get("thickness")
    if thickness is not None and not (isinstance(thickness, (int, float)) and 0.0 <= thickness < float("inf")):
        raise InputError(f"contacts between {pair[0]} and {pair[1]}: thickness: got {thickness!r}; expected a length")
    triangles = table.get("triangles")
    if triangles not in (None, True, False):
        raise InputError(
            f"contacts between {pair[0]} and {pair[1]}: triangles: got {triangles!r}; expected true or false"
        )
    return WorldContact(table.get("name", f"{pair[0]}_{pair[1]}"), pair, own, thickness, triangles, values)


def can_touch(nodes: NodeSet) -> bool:
    """Return True if nodes can touch: particles, and bodies and links with contact points."""
    return is_particles(nodes) or isinstance(nodes.touches, TouchingBodies | TouchingLinks)


def find_touching_nodes(nodes: NodeSet) -> NodeSet:
    """Return the nodes in contact: the nodes of a set, or the bodies that they carry."""
    return nodes.touches.bodies() if isinstance(nodes.touches, TouchingLinks) else nodes


def is_particles(nodes: NodeSet) -> bool:
    """Return True if nodes are point masses."""
    return nodes.name == "particles" and nodes.dq == nodes.du == 3


def is_rigid(nodes: NodeSet) -> bool:
    """Return True if nodes are rigid bodies.

    The numbers of coordinates are not enough to tell, because trees may have 7 and 6 too.
    """
    told = isinstance(nodes.touches, TouchingBodies) or nodes.contact_points is not None or nodes.name == "bodies"
    return told and nodes.dq == 7 and nodes.du == 6


def has_skin(nodes: NodeSet) -> bool:
    """Return True if nodes are particles with triangles."""
    return is_particles(nodes) and isinstance(nodes.touches, TouchingSkin)


def resolve_side_values(
    contact: WorldContact, pair: Mapping[str, Tensor], body: WorldBody, params: Params, nodes: NodeSet, *, paired: bool
) -> dict[str, Tensor]:
    """Return the contact parameters (nodes,) of one side: those of the pair, of the body, or defaults from its masses.

    Args:
        contact: The contact.
        pair: Values of the pair.
        body: The body.
        params: Parameters of the world.
        nodes: Node set of the body.
        paired: True if kernels combine the values of both sides, as springs in series; a value of the pair is then
            split between two equal sides.
    """
    law = contact.law
    given = {name: value for name, value in law.resolve(pair).items() if name in law.names}
    factor = equal_factors(law) if paired else dict.fromkeys(law.names, 1.0)
    halves = {name: value / factor[name] for name, value in given.items()}
    if isinstance(nodes.touches, TouchingBodies):
        params = Params({**params, **nodes.touches.values}, params.dtype)
    values = collect_contact_values(halves, TermContext(body.model, params, _all_free(nodes)), law)
    if isinstance(nodes.touches, TouchingBodies):
        share = torch.as_tensor(nodes.touches.share(), dtype=params.dtype)
        values = {
            name: broadcast(value, (nodes.count,)) * (share if law.per_point(name) and name not in given else 1.0)
            for name, value in values.items()
        }
    return values


def _all_free(nodes: NodeSet) -> NodeSet:
    """Return the nodes with the mean mass of the free ones instead of a fixed one, so that fixed nodes touch as
    hard.
    """
    arrays = []
    for name, value in nodes.arrays:
        if name == "inverse_mass" and not bool((unwrap_values(value) > 0).all()):
            value = torch.where(value > 0, value, _mean_of_positive(value))
        arrays.append((name, value))
    return replace(nodes, arrays=tuple(arrays))


def _mean_of_positive(value: Tensor) -> Tensor:
    """Return the mean (1,) of the positive entries of (n,), in a fixed order; 1 without any."""
    free = (value > 0).to(value.dtype)
    total = assemble(torch.stack([value * free, free], dim=1), np.zeros(value.shape[0], dtype=np.int64), 1)
    count = total[:, 1]
    return torch.where(count > 0, total[:, 0] / count.clamp_min(1.0), torch.ones_like(count))


@cache
def equal_factors(law: ContactLaw) -> Mapping[str, float]:
    """Return each parameter of a pair of equal bodies relative to that of one, such as a half for stiffness, in
    series.
    """
    normal, friction = law.device_functions()
    ones = [(1.0,) * functions.width for functions in (normal, friction)]
    found = (*normal.pair(ones[0], ones[0]), *friction.pair(ones[1], ones[1]))
    return dict(zip(law.names, (float(value) for value in found), strict=True))
