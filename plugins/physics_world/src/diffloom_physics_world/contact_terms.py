"""Contact between two node sets of a world, as node terms on both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from diffloom_geometry import take
from diffloom_mechanics import NamedTensor, NodeSet, NodeTerm, TermStage, build_carried_term
from diffloom_mechanics.contact import (
    ContactLaw,
    TouchingBodies,
    TouchingSkin,
    find_corner_slots,
    pack_contact_rows,
    round_up_to_power_of_two,
)
from diffloom_physics_world.contacts import has_skin, is_particles


@dataclass(frozen=True)
class ContactSide:
    """One of two node sets in contact.

    Args:
        name: Name of the set.
        nodes: The set.
        values: Contact parameters (nodes,).
    """

    name: str
    nodes: NodeSet
    values: Mapping[str, Tensor]

    @property
    def bodies(self) -> TouchingBodies:
        """Contact points and shapes of the rigid bodies."""
        assert isinstance(self.nodes.touches, TouchingBodies)
        return self.nodes.touches

    @property
    def faces(self) -> NDArray[np.int32]:
        """Triangles of the particles, possibly none."""
        touches = self.nodes.touches
        return touches.faces if isinstance(touches, TouchingSkin) else np.zeros((0, 3), np.int32)

    @property
    def members(self) -> NDArray[np.bool_]:
        """Flags (nodes,) of the particles in contact: corners of triangles, or all without triangles."""
        flags = np.zeros(self.nodes.count, dtype=bool)
        flags[self.faces.ravel() if len(self.faces) else slice(None)] = True
        return flags


def can_meet(a: NodeSet, b: NodeSet) -> bool:
    """Return True if nodes of the two sets can touch; two sets of bare points cannot."""
    return not (is_particles(a) and is_particles(b)) or has_skin(a) or has_skin(b)


def contact_terms(
    name: str, law: ContactLaw, a: ContactSide, b: ContactSide, thickness: float
) -> tuple[NodeTerm, NodeTerm]:
    """Return the contact of two sides, a term on each."""
    if is_particles(a.nodes) and is_particles(b.nodes):
        return _skins(name, law, a, b, thickness), _skins(name, law, b, a, thickness)
    if is_particles(a.nodes):
        return _particles_bodies(name, law, a, b, thickness)
    if is_particles(b.nodes):
        return _particles_bodies(name, law, b, a, thickness)
    return _bodies(name, law, a, b), _bodies(name, law, b, a)


def lift_to_carriers(term: NodeTerm, sides: Sequence[ContactSide]) -> NodeTerm:
    """Return a term between two sides as the engine runs it: on the carrying nodes, if bodies of a side are carried."""
    touching = {side.name: side.nodes.touches for side in sides}
    ends = [touching[name] for name in (term.on, term.reads) if name is not None]
    own, other = (end.carried if isinstance(end, TouchingBodies) else None for end in ends)
    return build_carried_term(term, own, other)


def _rows(law: ContactLaw, own: ContactSide, other: ContactSide) -> tuple[NamedTensor, ...]:
    """Return own contact parameters, and those of the other side, whose gradient the term of that side computes."""
    mine = pack_contact_rows(law, own.values, own.nodes.count)
    return (*mine, *_of_other(pack_contact_rows(law, other.values, other.nodes.count)))


def _of_other(rows: Sequence[NamedTensor]) -> list[NamedTensor]:
    """Return rows of the other side under names of their own, without gradient."""
    return [(f"other_{key}", value.detach()) for key, value in rows]


OTHERS = ("other_contact", "other_friction")


def _particles_bodies(
    name: str, law: ContactLaw, points: ContactSide, bodies: ContactSide, thickness: float
) -> tuple[NodeTerm, NodeTerm]:
    """Return the contact of particles with rigid bodies, a term on each side."""
    from diffloom_physics_world.particle_body_kernels import particle_body

    on_points, on_bodies = particle_body(*law.device_functions())
    members = points.members
    shapes = bodies.bodies.shapes(thickness)
    constants = (
        *shapes.arrays, bodies.bodies.points.reach, np.array([thickness]), np.flatnonzero(members).astype(np.int32)
    )  # fmt: skip
    return (
        NodeTerm(
            f"{name}.{points.name}", on_points[0], on_points[1], constants, _rows(law, points, bodies), on=points.name,
            only=members, reads=bodies.name, shared=OTHERS,
        ),
        NodeTerm(
            f"{name}.{bodies.name}", on_bodies[0], on_bodies[1], constants, _rows(law, bodies, points), on=bodies.name,
            reads=points.name, shared=OTHERS,
        ),
    )  # fmt: skip


def triangle_terms(
    name: str, law: ContactLaw, skin: ContactSide, bodies: ContactSide, thickness: NDArray[np.float64]
) -> Sequence[NodeTerm]:
    """Return the contact of points of rigid bodies with triangles of particles, a term on each side.

    Args:
        name: Name of the contact.
        law: Contact law.
        skin: Side of the particles.
        bodies: Side of the rigid bodies.
        thickness: Distance from the triangles at which each body touches (bodies,) [m].
    """
    from diffloom_physics_world.body_triangle_kernels import body_triangle

    on_particles, on_bodies = body_triangle(*law.device_functions())
    measure, push_corners, force, push_corners_adjoint, adjoint = on_particles
    faces, count = skin.faces, len(skin.faces)
    corners = faces.astype(np.int64)
    mine = pack_contact_rows(law, {key: _mean_of_corners(value, corners) for key, value in skin.values.items()}, count)
    own = pack_contact_rows(law, bodies.values, bodies.nodes.count)
    points = bodies.bodies.points.arrays
    balls: tuple[tuple[int, int], Literal["float"]] = ((count, 4), "float")
    return (
        NodeTerm(
            f"{name}.{skin.name}.triangles", force, adjoint,
            (faces, find_corner_slots(faces, skin.nodes.count), thickness, *points),
            (*mine, *_of_other(own)), work=(balls, ((9 * count, 3), "float")),
            stages=(TermStage(count, measure), TermStage(count, push_corners)),
            adjoint_stages=(TermStage(count, push_corners_adjoint),),
            on=skin.name, only=skin.members, reads=bodies.name, shared=("contact", "friction", *OTHERS),
        ),
        NodeTerm(
            f"{name}.{bodies.name}.triangles", on_bodies[1], on_bodies[2], (faces, thickness, *points),
            (*own, *_of_other(mine)), work=(balls,), stages=(TermStage(count, on_bodies[0]),),
            on=bodies.name, reads=skin.name, shared=OTHERS,
        ),
    )  # fmt: skip


def _mean_of_corners(value: Tensor, corners: NDArray[np.int64]) -> Tensor:
    """Return the mean (faces,) of a value of the particles over each triangle, added in a fixed order."""
    a, b, c = take(value, corners).unbind(-1)
    return (a + b + c) / 3.0


def _bodies(name: str, law: ContactLaw, own: ContactSide, other: ContactSide) -> NodeTerm:
    """Return the contact of rigid bodies with those of another set, a term on the first."""
    from diffloom_physics_world.body_body_kernels import body_body

    force, adjoint = body_body(*law.device_functions())
    margin = max(float(side.bodies.points.roundness.max()) for side in (own, other))
    constants = tuple(
        array for side in (own, other) for array in (*side.bodies.points.arrays, *side.bodies.shapes(margin).arrays)
    )
    return NodeTerm(
        f"{name}.{own.name}", force, adjoint, constants, _rows(law, own, other), on=own.name, reads=other.name,
        shared=OTHERS,
    )  # fmt: skip


def _skins(name: str, law: ContactLaw, own: ContactSide, other: ContactSide, thickness: float) -> NodeTerm:
    """Return the contact of particles and triangles of two sets, a term on the first."""
    from diffloom_physics_world.skin_kernels import skins, sort_other

    push_corners, push_vertex, push_corners_adjoint, push_vertex_adjoint = skins(*law.device_functions())
    faces, faces_o, count_o = own.faces, other.faces, other.nodes.count
    buckets = round_up_to_power_of_two(max(len(faces_o), count_o))
    return NodeTerm(
        f"{name}.{own.name}",
        force=push_vertex,
        adjoint=push_vertex_adjoint,
        constants=(
            faces, faces_o, find_corner_slots(faces, own.nodes.count), other.members.astype(np.int32),
            np.array([thickness]),
        ),
        params=_rows(law, own, other),
        work=(
            ((len(faces) + 1, 3), "float"),
            ((len(faces_o) + 1, 3), "float"),
            ((count_o + len(faces_o), 3), "int"),
            ((2, buckets + 2), "int"),
            ((count_o + len(faces_o),), "int"),
            ((9 * len(faces) + 1, 3), "float"),
        ),
        stages=(TermStage(1, sort_other), TermStage(len(faces), push_corners)),
        adjoint_stages=(TermStage(len(faces), push_corners_adjoint),),
        on=own.name,
        only=own.members,
        reads=other.name,
        shared=OTHERS,
    )  # fmt: skip


def is_sheet(faces: NDArray[np.int32]) -> bool:
    """Return True if triangles have a rim, and so no inside, unlike the surface of a solid."""
    edges = np.sort(np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]), axis=1)
    _, counts = np.unique(edges, axis=0, return_counts=True)
    return bool((counts == 1).any())


def measure_edge_length(nodes: Tensor, faces: NDArray[np.int32]) -> float:
    """Return the mean length of the triangles' edges [m] for ``nodes`` (nodes, 3); infinity without triangles."""
    if not len(faces):
        return float("inf")
    corners = nodes.detach()[torch.from_numpy(faces.astype(np.int64))]
    return float((corners - corners.roll(1, dims=1)).norm(dim=2).mean())
