"""Force term of the contact between bodies."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from diffloom.fixed_order import broadcast
from diffloom_mechanics import NodeTerm, TermStage
from diffloom_mechanics.contact import (
    BodyShape,
    ContactLaw,
    ContactPoints,
    ShapeArrays,
    build_shape_arrays,
    pack_contact_rows,
)
from diffloom_physics_rigid.body_files import RigidBody
from diffloom_physics_rigid.contact_defaults import find_sides


def pack_shapes(bodies: Sequence[RigidBody], margin: float = 0.0) -> ShapeArrays:
    """Return the shapes of ``bodies`` as arrays, with distances up to ``margin`` [m] outside."""
    solids = [BodyShape(b.shape.kind, b.shape.dims, b.shape.vertices, b.faces, b.roundness, b.grid) for b in bodies]
    return build_shape_arrays(solids, margin)


def compute_collision_reach(bodies: Sequence[RigidBody]) -> NDArray[np.float64]:
    """Return the distance (bodies,) of the farthest contact point from each centre [m]; -inf if a body does not
    collide.
    """
    return np.array([body.reach if body.collides else -np.inf for body in bodies])


def compute_point_share(body: RigidBody) -> float:
    """Return sqrt(n/m), for n ground points and m points between bodies on the largest side."""
    vertices, points = (find_sides(p, body.roundness)[0] for p in (body.points, body.pair_points))
    return math.sqrt(len(vertices) / len(points))


def build_pair_term(
    law: ContactLaw,
    bodies: Sequence[RigidBody],
    points: ContactPoints,
    shapes: ShapeArrays,
    params: Mapping[str, Tensor],
) -> NodeTerm:
    """Return the contact term of every pair of bodies of which at least one moves: points against shapes.

    A body with n vertices and m points between bodies on its largest side gives each of these points sqrt(n/m) of its
    stiffness and of its other values per point, the rule from which its defaults follow too.

    Args:
        law: Contact law.
        bodies: The bodies.
        points: Their points for contact between bodies.
        shapes: Their shapes as arrays.
        params: Parameters of the law.
    """
    from diffloom_physics_rigid.pair_kernels import pair_contact, sort_bodies

    count = len(bodies)
    reach = compute_collision_reach(bodies)
    widest = np.array([reach.max()])
    values = law.resolve(params)
    share = torch.tensor([compute_point_share(body) for body in bodies], dtype=values["contact_stiffness"].dtype)
    each = {name: broadcast(values[name], (count,)) * (share if law.per_point(name) else 1.0) for name in law.names}
    force, adjoint = pair_contact(*law.device_functions())
    return NodeTerm(
        "collisions",
        force=force,
        adjoint=adjoint,
        constants=(
            np.array([not body.fixed for body in bodies], dtype=np.int32),
            widest,
            reach,
            *points.arrays[1:],
            *shapes.arrays,
        ),
        params=pack_contact_rows(law, each, count),
        work=(((count,), "int"), ((count,), "int"), ((count,), "float")),
        stages=(TermStage(1, sort_bodies),),
        neighbours=lambda q: find_near_pairs(q, reach),
    )


def find_near_pairs(q: NDArray[np.float64], reach: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the pairs (pairs, 2) of bodies whose bounding balls overlap at the poses q.

    Args:
        q: Poses (bodies, 7).
        reach: Radii of the balls (bodies,) [m]; -inf for a body that touches nothing.
    """
    touching = np.flatnonzero(reach > 0.0)
    if len(touching) < 2:
        return np.zeros((0, 2), np.int64)
    from scipy.spatial import cKDTree

    centres = q[touching, :3]
    pairs = cKDTree(centres).query_pairs(2.0 * float(reach.max()), output_type="ndarray")
    apart = np.linalg.norm(centres[pairs[:, 0]] - centres[pairs[:, 1]], axis=1)
    near: NDArray[np.int64] = touching[pairs[apart < reach[touching][pairs].sum(axis=1)]].astype(np.int64)
    return near
