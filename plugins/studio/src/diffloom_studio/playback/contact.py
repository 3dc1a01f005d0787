"""What pushes a body from outside: the forces of its contact terms alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from diffloom.interfaces import Control, State
from diffloom_fitting.scene.scene import Scene
from diffloom_mechanics import Mechanics, NodeTerm
from diffloom_studio.playback.bodies import Body

NAMED = ("ground", "collisions", "self_collision")
LEAST = 1e-9  # N: what is smaller is no contact


@dataclass(frozen=True)
class Arrows:
    """Contact forces at one time. points: (arrows, 3) where they act [m]. forces: (arrows, 3) [N]."""

    points: NDArray[np.float64]
    forces: NDArray[np.float64]


NOTHING = Arrows(np.zeros((0, 3)), np.zeros((0, 3)))


def contact_forces(scene: Scene, body: Body) -> list[Arrows]:
    """The contact forces on the nodes of ``body`` at each of its times; none on nodes that are no points or bodies.

    The model's own contact terms are evaluated without its other terms, so these are the very forces that acted. In a
    world, bodies that touch each other push each other: every force is there twice, once on each.
    """
    dynamics = scene.model.dynamics(body.params, Control({name: rows[:1] for name, rows in body.control.items()}))
    if not isinstance(dynamics, Mechanics):
        return [NOTHING] * len(body.times)
    terms = tuple(t for t in dynamics.terms if isinstance(t, NodeTerm) and _is_contact(t))
    drawn = [name for name, nodes in dynamics.sets.items() if (nodes.dq, nodes.du) in ((3, 3), (7, 6))]
    if not terms or not drawn:
        return [NOTHING] * len(body.times)
    alone = Mechanics(dynamics.nodes, terms)
    return [_at(alone, body.trajectory[k], drawn, scene.dt) for k in range(len(body.times))]


def _at(alone: Mechanics, state: State, drawn: list[str], dt: float) -> Arrows:
    """The forces of one state."""
    q, u = ({name: pair[k].contiguous() for name, pair in state.sets.items()} for k in (0, 1))
    whole = State(q, u)
    with torch.no_grad():
        forces = alone.forces(whole, dt=dt)
    force = torch.cat([forces[name][:, :3] for name in drawn]).cpu().double().numpy()
    place = torch.cat([whole.sets[name][0][:, :3] for name in drawn]).cpu().double().numpy()
    acts = np.linalg.norm(force, axis=1) > LEAST
    return Arrows(place[acts], force[acts])


def _is_contact(term: NodeTerm) -> bool:
    # A world calls the terms of its bodies by the bodies' names too: "ball.ground".
    return term.name.rpartition(".")[2] in NAMED or any(name == "contact" for name, _ in term.params)
