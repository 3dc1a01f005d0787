"""Force term of the contact of a shell with itself, for any model of particles with triangles."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from diffloom.errors import InputError
from diffloom.fixed_order import broadcast
from diffloom_geometry import Indices
from diffloom_mechanics import NodeTerm, TermStage
from diffloom_mechanics.contact import ContactLaw, find_corner_slots, round_up_to_power_of_two


def build_self_collision_term(
    faces: Indices,
    particles: int,
    thickness: float,
    law: ContactLaw,
    values: Sequence[Tensor],
    friction: Sequence[Tensor] | None = None,
) -> NodeTerm:
    """Return the contact term of vertices with all triangles but their own, closer than ``thickness``.

    The two sides of a triangle are not distinguished, so a vertex must not cross it, that is, move by more than
    ``thickness`` within one step.

    Args:
        faces: Triangles (F, 3).
        particles: Number of vertices.
        thickness: Distance at which contact begins [m].
        law: Contact law.
        values: Parameters of the normal law, each a scalar or one per vertex.
        friction: Parameters of the friction law, or None for no friction.
    """
    from diffloom_physics_cloth.self_collision_kernels import self_contact, sort_sheet

    normal, slopes = law.device_functions()
    push_corners, push_vertex, push_corners_adjoint, push_vertex_adjoint = self_contact(
        normal, None if friction is None else slopes
    )
    count, buckets = len(faces), round_up_to_power_of_two(max(len(faces), particles))

    def rows(columns: Sequence[Tensor]) -> Tensor:
        return torch.stack([broadcast(value, (particles,)) for value in columns], dim=1)

    return NodeTerm(
        "self_collision",
        force=push_vertex,
        adjoint=push_vertex_adjoint,
        constants=(faces.astype(np.int32), find_corner_slots(faces, particles), np.array([thickness])),
        params=(("contact", rows(values)), ("friction", rows(friction or [torch.zeros_like(values[0])]))),
        work=(
            ((count + 1, 3), "float"),
            ((particles + count, 3), "int"),
            ((2, buckets + 2), "int"),
            ((particles + count,), "int"),
            ((9 * count, 3), "float"),
        ),
        stages=(TermStage(1, sort_sheet), TermStage(count, push_corners)),
        adjoint_stages=(TermStage(count, push_corners_adjoint),),
    )


def check_thickness(vertices: NDArray[np.float64], faces: Indices, thickness: float) -> None:
    """Raise InputError if the mesh touches itself at this thickness before it moves."""
    if not (np.isfinite(thickness) and thickness > 0):
        raise InputError(f"self_collision: got {thickness}; expected the thickness of contact [m], above 0")
    distance, vertex, face = find_nearest_approach(vertices, faces, thickness)
    if distance < thickness:
        raise InputError(
            f"self_collision: got a thickness of {thickness:g} m, but vertex {vertex} is only {distance:.4g} m from "
            f"face {face} in the mesh itself; choose a thickness below {distance:.4g} m"
        )


def find_nearest_approach(vertices: NDArray[np.float64], faces: Indices, limit: float) -> tuple[float, int, int]:
    """Return the smallest distance below ``limit`` of a vertex from a face of other vertices, and both numbers."""
    corner = vertices[faces]
    centre = corner.mean(axis=1)
    reach = np.linalg.norm(corner - centre[:, None], axis=2).max(axis=1) + limit
    best = (np.inf, -1, -1)
    for i, p in enumerate(vertices):
        close = np.flatnonzero((np.square(centre - p).sum(axis=1) < reach**2) & (faces != i).all(axis=1))
        if close.size:
            distances = point_triangle_distances(p, corner[close])
            k = int(distances.argmin())
            if distances[k] < best[0]:
                best = (float(distances[k]), i, int(close[k]))
    return best


def point_triangle_distances(p: NDArray[np.float64], corners: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the distances (T,) of one point from triangles (T, 3, 3)."""
    a, b, c = corners[:, 0], corners[:, 1], corners[:, 2]
    normal = np.cross(b - a, c - a)
    inside = np.ones(len(corners), dtype=bool)
    best = np.full(len(corners), np.inf)
    for start, end in ((a, b), (b, c), (c, a)):
        e, r = end - start, p - start
        tau = np.clip((e * r).sum(axis=1) / (e * e).sum(axis=1), 0, 1)
        best = np.minimum(best, np.linalg.norm(r - tau[:, None] * e, axis=1))
        inside &= (np.cross(e, r) * normal).sum(axis=1) >= 0
    height = np.abs(((p - a) * normal).sum(axis=1)) / np.linalg.norm(normal, axis=1)
    return np.where(inside, height, best)
