"""Step length of a world, from its elasticity at the start and from contacts that may begin."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from diffloom.interfaces import Control, Params, State
from diffloom_mechanics import SAFETY, Clock, Mechanics, NodeSet, estimate_fastest_rate
from diffloom_mechanics.contact import ContactLaw, TouchingBodies, TouchingLinks, TouchingSkin
from diffloom_physics_world.contact_terms import measure_edge_length
from diffloom_physics_world.contacts import WorldContact, can_touch, find_touching_nodes, is_particles, is_rigid

if TYPE_CHECKING:
    from diffloom_physics_world.model import World

#: Simultaneous contacts of a node: with bodies, and between vertices and triangles of two surfaces.
SEVERAL, SKINS = 4.0, 12.0


@dataclass(frozen=True)
class TouchingNodes:
    """One side of a contact.

    Args:
        key: Name of the node set.
        nodes: The nodes.
        values: Largest value of each contact parameter.
        lightest: Inverse mass of the lightest node [1/kg].
        pressing: Mass that may press on one contact point [kg].
    """

    key: str
    nodes: NodeSet
    values: Mapping[str, float]
    lightest: float
    pressing: float


def estimate_contact_rate(
    world: World, contact: WorldContact, params: Params, system: Mechanics, start: State
) -> float:
    """Return the fastest rate [1/s] of one contact.

    It counts two nodes that meet at the highest speed, and the weight of a body that the contact alone stops.
    """
    sides = [
        [
            _make_contact_side(key, nodes, world.side_values_of(contact, params, key, nodes, paired=True))
            for key, nodes in ((key, find_touching_nodes(each)) for key, each in system.sets.items() if can_touch(each))
            if key.partition(".")[0] == name
        ]
        for name in contact.between
    ]
    speed, fastest = _speed(system, start), 0.0
    names = {term.name for term in system.terms}
    for a, b in itertools.product(*sides):
        values = {name: min(a.values[name], b.values[name]) for name in a.values}
        mobility = a.lightest + b.lightest
        many = _count_simultaneous(a, b, start, triangles=f"{contact.name}.{a.key}.triangles" in names)
        fastest = max(fastest, contact.law.rate(values, many * mobility, speed))
        fastest = max(fastest, values["friction_stiffness"] * many * mobility)
        # An explicit scheme is stable for damping up to twice the rate at which it is stable for an oscillation.
        pressing = max(a.pressing, b.pressing)
        fastest = max(fastest, 0.5 * estimate_pressed_damping(contact.law, values, pressing, speed) * mobility)
    return fastest


def estimate_pressed_damping(law: ContactLaw, values: Mapping[str, float], mass: float, speed: float) -> float:
    """Return the force per speed [N s/m] of a contact at the depth at which it stops a mass, shared by SEVERAL points.

    The damping of Hunt and Crossley (1975) grows with depth, so a light node under a heavy body is damped strongly.
    """
    depth = speed * math.sqrt(mass / (SEVERAL * max(values["contact_stiffness"], 1e-300)))
    k = tuple(values[spec.name] for spec in law.normal_specs)
    force, clock, small = law.normal().force, Clock(0, 0.0, 1e-9, 0, 0.0), 1e-6
    return float(abs(force(clock, -depth, -small, k) - force(clock, -depth, small, k))) / (2.0 * small)


def _make_contact_side(key: str, nodes: NodeSet, rows: Mapping[str, torch.Tensor]) -> TouchingNodes:
    """Return one side of a contact from its nodes and contact parameters."""
    inverse = next((v for n, v in nodes.arrays if n == "inverse_mass"), torch.zeros(1))
    free = inverse[inverse > 0]
    # The weight of a soft body is spread over its side, but a rigid body may stand on a corner.
    pressing = 0.0 if not len(free) else float((1.0 / free).sum() / math.sqrt(len(free)))
    if not is_particles(nodes) and len(free):
        pressing = float(1.0 / free.min())
    return TouchingNodes(key, nodes, {n: float(v.max()) for n, v in rows.items()}, float(inverse.max()), pressing)


def _count_simultaneous(a: TouchingNodes, b: TouchingNodes, start: State, *, triangles: bool) -> float:
    """Return how many contacts of one node act at once."""
    if is_particles(a.nodes) and is_particles(b.nodes):
        return SKINS
    if not triangles:
        return SEVERAL
    skin, body = (a, b) if is_particles(a.nodes) else (b, a)
    assert isinstance(skin.nodes.touches, TouchingSkin)
    assert isinstance(body.nodes.touches, TouchingBodies)
    near = count_points_within(body.nodes.touches, measure_edge_length(start[skin.key].q, skin.nodes.touches.faces))
    # The force of each point is shared by three corners.
    return max(SEVERAL, 1.0 + near / 3.0)


def count_points_within(bodies: TouchingBodies, length: float) -> int:
    """Return the largest number of points of one body within ``length`` [m] of one of them."""
    points, found = bodies.points, 1
    for first, last in itertools.pairwise(points.cluster_starts):
        own = points.points[points.point_starts[first] : points.point_starts[last]]
        for p in own:
            found = max(found, int((np.square(own - p).sum(axis=1) < length * length).sum()))
    return found


def _speed(system: Mechanics, start: State) -> float:
    """Return a speed [m/s] at which nodes may meet: the largest at the start plus the gain of a fall over the scene.

    Nodes that carry bodies have no positions of their own, so their rates count as speeds.
    """
    placed = [start[key] for key, nodes in system.sets.items() if is_particles(nodes) or is_rigid(nodes)]
    heights = torch.cat([state.q[:, 1] for state in placed]) if placed else torch.zeros(1)
    moving = max(float(state.u[:, :3].norm(dim=1).max()) for state in placed) if placed else 0.0
    rates = [float(start[key].u.abs().max()) for key, nodes in system.sets.items() if _carries(nodes)]
    return max([moving, *rates]) + math.sqrt(2.0 * 9.81 * max(float(heights.max() - heights.min()), 0.05))


def _carries(nodes: NodeSet) -> bool:
    """Return True if nodes carry bodies."""
    return isinstance(nodes.touches, TouchingLinks)


def suggest_step(world: World, params: Params) -> float:
    """Return half the stable step of an explicit scheme: 2 / w of the fastest elastic motion, and that of every
    contact.
    """
    double = Params({name: value.detach().double() for name, value in params.items()}, torch.float64)
    with torch.no_grad():
        start = world.initial_state(double)
        system = world.dynamics(double, Control())
        fastest = estimate_fastest_rate(system, start)
        rates = [estimate_contact_rate(world, contact, double, system, start) for contact in world.contacts]
    own = [
        float(suggest(body.params(double, torch.float64)))
        for body in world.bodies
        if (suggest := getattr(body.model, "suggested_dt", None)) is not None
    ]
    limits = [SAFETY * 2.0 / fastest if fastest > 0.0 else math.inf, *own]
    return min([*limits, *(SAFETY / rate for rate in rates if rate > 0.0)])
