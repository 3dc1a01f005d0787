"""Kernels of contact between rigid bodies of two node sets: points of each in the shapes of the other."""

import functools

from diffloom_kernels import device, dot3, ld3, sub3
from diffloom_mechanics.contact.kernels import body_cotangents, body_pair_contact


@device
def balls_meet(i, j, q, q_o, reach, reach_o):
    """Return true if the bounding balls of two bodies overlap; a reach of -inf touches nothing."""
    d = sub3(ld3(q, i), ld3(q_o, j))
    r = reach[i] + reach_o[j]
    return r > q.dtype.type(0) and dot3(d, d) < r * r


@functools.cache
def body_body(normal_law, friction_law):
    """Return the force on a body from all bodies of the other set, and its adjoint; names of the other set end in
    _o.
    """
    points_in_shape, points_in_shape_adjoint, _, _ = body_pair_contact(normal_law, friction_law)

    @device
    def pair_force(
        i, clock, q, u, q_o, u_o,
        reach, roundness, cluster_starts, cluster_centre, cluster_radius, point_starts, points,
        kind, dims, low, high, grid_start, grid_size, grid_origin, grid_cell, grid_values,
        reach_o, roundness_o, cluster_starts_o, cluster_centre_o, cluster_radius_o, point_starts_o, points_o,
        kind_o, dims_o, low_o, high_o, grid_start_o, grid_size_o, grid_origin_o, grid_cell_o, grid_values_o,
        k_n, k_t, k_n_o, k_t_o,
    ):
        """Sum force and torque on body i."""
        own = (reach, roundness, cluster_starts, cluster_centre, cluster_radius, point_starts, points)
        other = (reach_o, roundness_o, cluster_starts_o, cluster_centre_o, cluster_radius_o, point_starts_o, points_o)
        shapes = (kind, dims, grid_start, grid_size, grid_origin, grid_cell, grid_values)
        shapes_o = (kind_o, dims_o, grid_start_o, grid_size_o, grid_origin_o, grid_cell_o, grid_values_o)
        side = (q, u, k_n, k_t)
        side_o = (q_o, u_o, k_n_o, k_t_o)
        zero = q.dtype.type(0)
        force = (zero, zero, zero)
        torque = force
        for j in range(q_o.shape[0]):
            if balls_meet(i, j, q, q_o, reach, reach_o):
                force, torque = points_in_shape(
                    i, j, True, clock, side, side_o, own, shapes_o, (low_o, high_o), force, torque
                )
                force, torque = points_in_shape(
                    j, i, False, clock, side_o, side, other, shapes, (low, high), force, torque
                )
        return (force[0], force[1], force[2], torque[0], torque[1], torque[2])

    @device
    def pair_force_adjoint(
        i, clock, q, u, q_o, u_o,
        reach, roundness, cluster_starts, cluster_centre, cluster_radius, point_starts, points,
        kind, dims, low, high, grid_start, grid_size, grid_origin, grid_cell, grid_values,
        reach_o, roundness_o, cluster_starts_o, cluster_centre_o, cluster_radius_o, point_starts_o, points_o,
        kind_o, dims_o, low_o, high_o, grid_start_o, grid_size_o, grid_origin_o, grid_cell_o, grid_values_o,
        k_n, k_t, k_n_o, k_t_o, adj_f, adj_o, adj_k_n, adj_k_t, adj_k_n_o, adj_k_t_o,
    ):
        """Sum the cotangents of body i's state and contact parameters."""
        own = (reach, roundness, cluster_starts, cluster_centre, cluster_radius, point_starts, points)
        other = (reach_o, roundness_o, cluster_starts_o, cluster_centre_o, cluster_radius_o, point_starts_o, points_o)
        shapes = (kind, dims, grid_start, grid_size, grid_origin, grid_cell, grid_values)
        shapes_o = (kind_o, dims_o, grid_start_o, grid_size_o, grid_origin_o, grid_cell_o, grid_values_o)
        side = (q, u, k_n, k_t)
        side_o = (q_o, u_o, k_n_o, k_t_o)
        adj_k = (adj_k_n, adj_k_t)
        zero = q.dtype.type(0)
        a_x = (zero, zero, zero)
        a_v = a_x
        a_w = a_x
        a_R = (zero, zero, zero, zero, zero, zero, zero, zero, zero)
        for j in range(q_o.shape[0]):
            if balls_meet(i, j, q, q_o, reach, reach_o):
                a_x, a_v, a_w, a_R = points_in_shape_adjoint(
                    i, j, True, clock, side, side_o, own, shapes_o, (low_o, high_o), adj_f, adj_o, adj_k,
                    a_x, a_v, a_w, a_R,
                )
                a_x, a_v, a_w, a_R = points_in_shape_adjoint(
                    j, i, False, clock, side_o, side, other, shapes, (low, high), adj_o, adj_f, adj_k,
                    a_x, a_v, a_w, a_R,
                )
        return body_cotangents(i, q, a_x, a_R, a_v, a_w)

    return pair_force, pair_force_adjoint
