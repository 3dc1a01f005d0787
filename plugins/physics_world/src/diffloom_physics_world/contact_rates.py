"""How fast contacts between bodies may act: what limits the step of an explicit scheme."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from diffloom.interfaces import Params, State
from diffloom_mechanics import Clock, Mechanics, NodeSet
from diffloom_mechanics.contact import ContactLaw, TouchingBodies, TouchingLinks, TouchingSkin
from diffloom_physics_world.contact_terms import edge_length
from diffloom_physics_world.contacts import Contact, can_touch, is_particles, is_rigid, touching_nodes

if TYPE_CHECKING:
    from diffloom_physics_world.model import World

#: How many contacts a node may have at once: with bodies, and where vertices and triangles of two skins meet.
SEVERAL, SKINS = 4.0, 12.0


@dataclass(frozen=True)
class Touching:
    """One side of a contact: its nodes, the largest of its contact parameters, the inverse mass of its lightest node
    [1/kg] and the mass [kg] that may press on one touching point of it."""

    key: str
    nodes: NodeSet
    values: Mapping[str, float]
    lightest: float
    pressing: float


def contact_rate(world: World, contact: Contact, params: Params, system: Mechanics, start: State) -> float:
    """The fastest rate [1/s] of one contact: of two nodes that meet at the speed they may have, and of what a body
    presses with when the contact alone stops it."""
    sides = [
        [
            _touching(key, nodes, world.side_values_of(contact, params, key, nodes, paired=True))
            for key, nodes in ((key, touching_nodes(each)) for key, each in system.sets.items() if can_touch(each))
            if key.partition(".")[0] == name
        ]
        for name in contact.between
    ]
    speed, fastest = _speed(system, start), 0.0
    names = {term.name for term in system.terms}
    for a, b in itertools.product(*sides):
        values = {name: min(a.values[name], b.values[name]) for name in a.values}
        mobility = a.lightest + b.lightest
        many = _at_once(a, b, start, triangles=f"{contact.name}.{a.key}.triangles" in names)
        fastest = max(fastest, contact.law.rate(values, many * mobility, speed))
        fastest = max(fastest, values["friction_stiffness"] * many * mobility)
        # A scheme follows damping up to twice the rate that it follows of an oscillation.
        pressing = max(a.pressing, b.pressing)
        fastest = max(fastest, 0.5 * pressed_damping(contact.law, values, pressing, speed) * mobility)
    return fastest


def pressed_damping(law: ContactLaw, values: Mapping[str, float], mass: float, speed: float) -> float:
    """Force per speed [N s/m] of a contact that a mass [kg] presses on: as deep as the contact alone stops it, shared
    by SEVERAL points. Damping of Hunt and Crossley grows with depth: a light node under a heavy body is held hard."""
    depth = speed * math.sqrt(mass / (SEVERAL * max(values["contact_stiffness"], 1e-300)))
    k = tuple(values[spec.name] for spec in law.normal_specs)
    force, clock, small = law.normal().force, Clock(0, 0.0, 1e-9, 0, 0.0), 1e-6
    return float(abs(force(clock, -depth, -small, k) - force(clock, -depth, small, k))) / (2.0 * small)


def _touching(key: str, nodes: NodeSet, rows: Mapping[str, torch.Tensor]) -> Touching:
    inverse = next((v for n, v in nodes.arrays if n == "inverse_mass"), torch.zeros(1))
    free = inverse[inverse > 0]
    # The weight of a soft body is spread over its side; a rigid one may stand on a corner.
    pressing = 0.0 if not len(free) else float((1.0 / free).sum() / math.sqrt(len(free)))
    if not is_particles(nodes) and len(free):
        pressing = float(1.0 / free.min())
    return Touching(key, nodes, {n: float(v.max()) for n, v in rows.items()}, float(inverse.max()), pressing)


def _at_once(a: Touching, b: Touching, start: State, *, triangles: bool) -> float:
    """How many contacts of one node count at once."""
    if is_particles(a.nodes) and is_particles(b.nodes):
        return SKINS
    if not triangles:
        return SEVERAL
    skin, body = (a, b) if is_particles(a.nodes) else (b, a)
    assert isinstance(skin.nodes.touches, TouchingSkin)
    assert isinstance(body.nodes.touches, TouchingBodies)
    near = points_within(body.nodes.touches, edge_length(start[skin.key].q, skin.nodes.touches.faces))
    # Each point shares its force among three corners.
    return max(SEVERAL, 1.0 + near / 3.0)


def points_within(bodies: TouchingBodies, length: float) -> int:
    """The most points of one body that are within ``length`` [m] of one of them."""
    points, found = bodies.points, 1
    for first, last in itertools.pairwise(points.cluster_starts):
        own = points.points[points.point_starts[first] : points.point_starts[last]]
        for p in own:
            found = max(found, int((np.square(own - p).sum(axis=1) < length * length).sum()))
    return found


def _speed(system: Mechanics, start: State) -> float:
    """A speed [m/s] at which nodes may meet: the largest at the start, with what a fall over the scene adds. Of nodes
    that carry bodies only these are known to be somewhere: their rates count as speeds."""
    placed = [start[key] for key, nodes in system.sets.items() if is_particles(nodes) or is_rigid(nodes)]
    heights = torch.cat([state.q[:, 1] for state in placed]) if placed else torch.zeros(1)
    moving = max(float(state.u[:, :3].norm(dim=1).max()) for state in placed) if placed else 0.0
    rates = [float(start[key].u.abs().max()) for key, nodes in system.sets.items() if _carries(nodes)]
    return max([moving, *rates]) + math.sqrt(2.0 * 9.81 * max(float(heights.max() - heights.min()), 0.05))


def _carries(nodes: NodeSet) -> bool:
    return isinstance(nodes.touches, TouchingLinks)
