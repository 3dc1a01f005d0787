"""Contact between bodies, as a term."""

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
from diffloom_physics_rigid.contact_defaults import sides_of


def pack_shapes(bodies: Sequence[RigidBody], margin: float = 0.0) -> ShapeArrays:
    """The shapes of ``bodies``, known up to ``margin`` [m] outside."""
    solids = [BodyShape(b.shape.kind, b.shape.dims, b.vertices, b.faces, b.roundness, b.grid) for b in bodies]
    return build_shape_arrays(solids, margin)


def collision_reach(bodies: Sequence[RigidBody]) -> NDArray[np.float64]:
    """(bodies,) the farthest touching point of each from its centre [m], -inf for one that touches no other."""
    return np.array([body.reach if body.collides else -np.inf for body in bodies])


def point_share(body: RigidBody) -> float:
    """sqrt(n/m) for n ground points and m points between bodies on the largest side."""
    vertices, points = (sides_of(p, body.roundness)[0] for p in (body.points, body.pair_points))
    return math.sqrt(len(vertices) / len(points))


def body_pairs(
    law: ContactLaw,
    bodies: Sequence[RigidBody],
    points: ContactPoints,
    shapes: ShapeArrays,
    params: Mapping[str, Tensor],
) -> NodeTerm:
    """Contact of every pair of bodies, of which at least one moves: points of each against the other's shape.

    A body whose largest side has n vertices and m points between bodies gives each of these points sqrt(n/m) of its
    stiffness and of whatever else counts for one point: the rule by which its defaults were found.
    """
    from diffloom_physics_rigid.pair_kernels import pair_contact, sort_bodies

    count = len(bodies)
    reach = collision_reach(bodies)
    widest = np.array([reach.max()])
    values = law.resolve(params)
    share = torch.tensor([point_share(body) for body in bodies], dtype=values["contact_stiffness"].dtype)
    each = {name: broadcast(values[name], (count,)) * (share if law.per_point(name) else 1.0) for name in law.names}
    force, adjoint = pair_contact(law.normal(), law.friction.functions())
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
        neighbours=lambda q: near_pairs(q, reach),
    )


def near_pairs(q: NDArray[np.float64], reach: NDArray[np.float64]) -> NDArray[np.int64]:
    """(pairs, 2) bodies whose bounding balls, of radius ``reach`` (-inf: touches nothing), overlap at the poses q."""
    touching = np.flatnonzero(reach > 0.0)
    if len(touching) < 2:
        return np.zeros((0, 2), np.int64)
    from scipy.spatial import cKDTree

    centres = q[touching, :3]
    pairs = cKDTree(centres).query_pairs(2.0 * float(reach.max()), output_type="ndarray")
    apart = np.linalg.norm(centres[pairs[:, 0]] - centres[pairs[:, 1]], axis=1)
    near: NDArray[np.int64] = touching[pairs[apart < reach[touching][pairs].sum(axis=1)]].astype(np.int64)
    return near
