"""Kernels of contact between the vertices of a shell and the triangles of other vertices.

slots and pushes are those of skin_kernels; balls (the centres of the triangles), cells, starts and order those of
cell_kernels.
"""

import functools

from diffloom_kernels import device
from diffloom_mechanics.contact.kernels import (
    gather_corner_cotangents,
    gather_corner_forces,
    skin_contact,
    sort_into_cells,
    store_face_centres,
)


@device
def is_not_corner(i, j0, j1, j2, members):
    """Return true if vertex i is none of the corners."""
    return i != j0 and i != j1 and i != j2


@device
def sort_sheet(_, clock, x, u, faces, slots, thickness, k_n, k_t, balls, cells, starts, order, pushes):
    """Stage 1: put balls around the triangles, and sort vertices and triangles."""
    R = x.dtype.type
    count = faces.shape[0]
    reach = store_face_centres(x, faces, balls) + thickness[0]
    balls[count, 0] = reach
    sort_into_cells(x, x.shape[0], R(0.5) / reach, cells, starts, order, 0, 0)
    sort_into_cells(balls, count, R(0.5) / reach, cells, starts, order, 1, x.shape[0])


@functools.cache
def self_contact(normal_law, friction_law):
    """Return push_corners, push_vertex and their adjoints.

    friction_law is None for contact without friction.
    """
    corners, vertex, corners_adjoint, vertex_adjoint = skin_contact(normal_law, is_not_corner, friction_law)

    @device
    def push_corners(f, clock, x, u, faces, slots, thickness, k_n, k_t, balls, cells, starts, order, pushes):
        """Stage 2: sum the forces on the corners of triangle f from all vertices that touch it."""
        corners(f, clock, x, u, x, u, faces, slots, thickness, k_n, k_t, balls, cells, starts, order, pushes)

    @device
    def push_vertex(i, clock, x, u, faces, slots, thickness, k_n, k_t, balls, cells, starts, order, pushes):
        """Sum the force on vertex i from all triangles that it touches and from all vertices that touch its own
        triangles.
        """
        R = x.dtype.type
        total = gather_corner_forces(i, slots, pushes, (R(0), R(0), R(0)))
        return vertex(i, clock, x, u, x, u, faces, slots, thickness, k_n, k_t, balls, cells, starts, order, total)

    @device
    def push_corners_adjoint(
        f, clock, x, u, faces, slots, thickness, k_n, k_t, balls, cells, starts, order, pushes, adj_f, adj_k_n,
        adj_k_t,
    ):
        """Transpose of stage 2."""
        corners_adjoint(
            f, clock, x, u, x, u, faces, slots, thickness, k_n, k_t, balls, cells, starts, order, pushes, adj_f, adj_f
        )

    @device
    def push_vertex_adjoint(
        i, clock, x, u, faces, slots, thickness, k_n, k_t, balls, cells, starts, order, pushes, adj_f, adj_k_n,
        adj_k_t,
    ):
        """Transpose of push_vertex: cotangents of vertex i's position and velocity."""
        R = x.dtype.type
        zero = (R(0), R(0), R(0))
        a_x, a_u = gather_corner_cotangents(i, slots, pushes, faces.shape[0], zero, zero)
        return vertex_adjoint(
            i, clock, x, u, x, u, faces, slots, thickness, k_n, k_t, balls, cells, starts, order, adj_f, adj_f,
            adj_k_n, adj_k_t, a_x, a_u,
        )

    return push_corners, push_vertex, push_corners_adjoint, push_vertex_adjoint
