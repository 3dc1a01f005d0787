"""Kernels of contact between the particles of one set and the triangles of another, and the reverse: a term on either
set.

Vertices sum the forces from the triangles of the other set; triangles sum those from its vertices into rows of their
own, as skin_kernels of diffloom_mechanics describes. Names of the other set end in _o. members_o: flags of its vertices
in contact. middles, middles_o: centres of the triangles, and in the last row the reach of a contact. cells, starts,
order: its vertices, then its triangles.
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
def is_member(i, j0, j1, j2, members):
    """Return true if vertex i takes part in contact."""
    return members[i] == 1


@device
def accept_any(i, j0, j1, j2, members):
    """Return true for every vertex."""
    return True


@device
def sort_other(
    _, clock, x, u, x_o, u_o, faces, faces_o, slots, members_o, thickness, k_n, k_t, k_n_o, k_t_o,
    middles, middles_o, cells, starts, order, pushes,
):
    """Stage 1: put balls around the triangles of both sets, and sort those of the other set into cells.

    Cells are as wide as the objects that are searched in them.
    """
    R = x.dtype.type
    count = faces.shape[0]
    count_o = faces_o.shape[0]
    reach = store_face_centres(x, faces, middles) + thickness[0]
    reach_o = store_face_centres(x_o, faces_o, middles_o) + thickness[0]
    middles[count, 0] = reach
    middles_o[count_o, 0] = reach_o
    sort_into_cells(x_o, x_o.shape[0], R(0.5) / reach, cells, starts, order, 0, 0)
    sort_into_cells(middles_o, count_o, R(0.5) / reach_o, cells, starts, order, 1, x_o.shape[0])


@functools.cache
def skins(normal_law, friction_law):
    """Return push_corners, push_vertex and their adjoints for a NormalFunctions and a FrictionFunctions."""
    corners, _, corners_adjoint, _ = skin_contact(normal_law, is_member, friction_law)
    _, vertex, _, vertex_adjoint = skin_contact(normal_law, accept_any, friction_law)

    @device
    def push_corners(
        f, clock, x, u, x_o, u_o, faces, faces_o, slots, members_o, thickness, k_n, k_t, k_n_o, k_t_o,
        middles, middles_o, cells, starts, order, pushes,
    ):
        """Stage 2: sum the forces on the corners of triangle f from all vertices of the other set that touch it."""
        corners(
            f, clock, x_o, u_o, x, u, faces, members_o, thickness, k_n_o, k_t_o, middles, cells, starts, order,
            pushes,
        )

    @device
    def push_vertex(
        i, clock, x, u, x_o, u_o, faces, faces_o, slots, members_o, thickness, k_n, k_t, k_n_o, k_t_o,
        middles, middles_o, cells, starts, order, pushes,
    ):
        """Sum the force on vertex i from triangles of the other set and from its own triangles."""
        R = x.dtype.type
        total = gather_corner_forces(i, slots, pushes, (R(0), R(0), R(0)))
        return vertex(
            i, clock, x, u, x_o, u_o, faces_o, members_o, thickness, k_n, k_t, middles_o, cells, starts, order,
            total,
        )

    @device
    def push_corners_adjoint(
        f, clock, x, u, x_o, u_o, faces, faces_o, slots, members_o, thickness, k_n, k_t, k_n_o, k_t_o,
        middles, middles_o, cells, starts, order, pushes, adj_f, adj_o, adj_k_n, adj_k_t, adj_k_n_o, adj_k_t_o,
    ):
        """Transpose of stage 2."""
        corners_adjoint(
            f, clock, x_o, u_o, x, u, faces, members_o, thickness, k_n_o, k_t_o, middles, cells, starts, order,
            pushes, adj_o, adj_f,
        )

    @device
    def push_vertex_adjoint(
        i, clock, x, u, x_o, u_o, faces, faces_o, slots, members_o, thickness, k_n, k_t, k_n_o, k_t_o,
        middles, middles_o, cells, starts, order, pushes, adj_f, adj_o, adj_k_n, adj_k_t, adj_k_n_o, adj_k_t_o,
    ):
        """Transpose of push_vertex: cotangents of vertex i's position and velocity."""
        R = x.dtype.type
        zero = (R(0), R(0), R(0))
        a_x, a_u = gather_corner_cotangents(i, slots, pushes, faces.shape[0], zero, zero)
        return vertex_adjoint(
            i, clock, x, u, x_o, u_o, faces_o, members_o, thickness, k_n, k_t, middles_o, cells, starts, order,
            adj_f, adj_o, adj_k_n, adj_k_t, a_x, a_u,
        )

    return push_corners, push_vertex, push_corners_adjoint, push_vertex_adjoint
