"""Contact between bodies: each sums over its neighbours, its own points in their shapes and their points in its own."""

import functools

from diffloom_kernels import device
from diffloom_mechanics.contact.kernels import body_cotangents, pair_points
from diffloom_physics_rigid.broad_phase_kernels import first_near, near_pair


@functools.cache
def pair_contact(normal_law, friction_law):
    """pair_force and its adjoint under a NormalFunctions and a FrictionFunctions (see contact.law)."""
    _, _, both_forces, both_forces_adjoint = pair_points(normal_law, friction_law)

    @device
    def pair_force(
        i, clock, q, u, movable, widest, reach, roundness, cluster_starts, cluster_centre, cluster_radius, point_starts,
        points, kind, dims, low, high, grid_start, grid_size, grid_origin, grid_cell, grid_values, k_n, k_t,
        order, place, along,
    ):
        """Force and torque on body i from all its neighbours."""
        own = (reach, roundness, cluster_starts, cluster_centre, cluster_radius, point_starts, points)
        shapes = (kind, dims, grid_start, grid_size, grid_origin, grid_cell, grid_values)
        side = (q, u, k_n, k_t)
        zero = q.dtype.type(0)
        force = (zero, zero, zero)
        torque = (zero, zero, zero)
        width = reach[i] + widest[0]
        x = q[i, 0]
        for at in range(first_near(i, width, place, along), q.shape[0]):
            if along[at] > x + width:
                break
            j = order[at]
            if near_pair(i, j, q, movable, reach):
                force, torque = both_forces(i, j, clock, side, own, shapes, (low, high), force, torque)
        return (force[0], force[1], force[2], torque[0], torque[1], torque[2])

    @device
    def pair_force_adjoint(
        i, clock, q, u, movable, widest, reach, roundness, cluster_starts, cluster_centre, cluster_radius, point_starts,
        points, kind, dims, low, high, grid_start, grid_size, grid_origin, grid_cell, grid_values, k_n, k_t,
        order, place, along, adj_f, adj_k_n, adj_k_t,
    ):
        """Cotangent of body i's state and contact from every contact it takes part in."""
        own = (reach, roundness, cluster_starts, cluster_centre, cluster_radius, point_starts, points)
        shapes = (kind, dims, grid_start, grid_size, grid_origin, grid_cell, grid_values)
        side = (q, u, k_n, k_t)
        zero = q.dtype.type(0)
        a_x = (zero, zero, zero)
        a_v = a_x
        a_w = a_x
        a_R = (zero, zero, zero, zero, zero, zero, zero, zero, zero)
        width = reach[i] + widest[0]
        x = q[i, 0]
        for at in range(first_near(i, width, place, along), q.shape[0]):
            if along[at] > x + width:
                break
            j = order[at]
            if near_pair(i, j, q, movable, reach):
                a_x, a_v, a_w, a_R = both_forces_adjoint(
                    i, j, clock, side, own, shapes, (low, high), adj_f, (adj_k_n, adj_k_t), a_x, a_v, a_w, a_R
                )
        return body_cotangents(i, q, a_x, a_R, a_v, a_w)

    return pair_force, pair_force_adjoint
