"""What pushes a body from outside: the forces of its contact terms alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from diffloom.dynamics import Mechanics, NodeTerm
from diffloom_fitting.playback.bodies import Body
from diffloom_fitting.scene.scene import Scene

NAMED = ("ground", "collisions", "self_collision")
LEAST = 1e-9  # N: what is smaller is no contact


@dataclass(frozen=True)
class Arrows:
    """Contact forces at one time. points: (arrows, 3) where they act [m]. forces: (arrows, 3) [N]."""

    points: NDArray[np.float64]
    forces: NDArray[np.float64]


def contact_forces(scene: Scene, body: Body) -> list[Arrows]:
    """The contact forces on the nodes of ``body`` at each of its times; none for nodes that are no points or bodies.

    The model's own contact terms are evaluated without its other terms, so these are the very forces that acted.
    """
    nothing = Arrows(np.zeros((0, 3)), np.zeros((0, 3)))
    dynamics = scene.model.dynamics(body.params, scene.control_with({}, 1))
    if not isinstance(dynamics, Mechanics) or len(dynamics.sets) != 1:
        return [nothing] * len(body.times)
    terms = tuple(t for t in dynamics.terms if isinstance(t, NodeTerm) and _is_contact(t))
    (nodes,) = dynamics.sets.values()
    if not terms or (nodes.dq, nodes.du) not in ((3, 3), (7, 6)):
        return [nothing] * len(body.times)
    alone = Mechanics(dynamics.nodes, terms)
    found = []
    for q, u in zip(body.trajectory.q, body.trajectory.u, strict=True):
        with torch.no_grad():
            force = alone.force(q.contiguous(), u.contiguous(), dt=scene.dt)[:, :3].cpu().double().numpy()
        acts = np.linalg.norm(force, axis=1) > LEAST
        found.append(Arrows(q[:, :3].cpu().double().numpy()[acts], force[acts]))
    return found


def _is_contact(term: NodeTerm) -> bool:
    return term.name in NAMED or any(name == "contact" for name, _ in term.params)
