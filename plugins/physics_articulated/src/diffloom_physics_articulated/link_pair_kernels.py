"""Kernels of contact between shapes of links: points of one in the shape of the second, for listed pairs.

``partners[starts[i]]`` to ``partners[starts[i + 1] - 1]`` are the bodies that body i may touch. Each of a pair computes
the contact, as in body_pair_kernels.
"""

import functools

from diffloom_kernels import device, dot3, ld3, sub3
from diffloom_mechanics.contact.kernels import body_cotangents, body_pair_contact


@device
def balls_meet(i, j, q, reach):
    """Return true if the bounding balls of two bodies overlap."""
    d = sub3(ld3(q, i), ld3(q, j))
    r = reach[i] + reach[j]
    return dot3(d, d) < r * r


@functools.cache
def link_pairs(normal_law, friction_law):
    """Return the force on a body from its partners and its adjoint, for a NormalFunctions and a FrictionFunctions."""
    _, _, both_forces, both_forces_adjoint = body_pair_contact(normal_law, friction_law)

    @device
    def pair_force(
        i, clock, q, u, starts, partners, reach, roundness, cluster_starts, cluster_centre, cluster_radius,
        point_starts, points, kind, dims, low, high, grid_start, grid_size, grid_origin, grid_cell, grid_values,
        k_n, k_t,
    ):
        """Sum force and torque on body i."""
        own = (reach, roundness, cluster_starts, cluster_centre, cluster_radius, point_starts, points)
        shapes = (kind, dims, grid_start, grid_size, grid_origin, grid_cell, grid_values)
        side = (q, u, k_n, k_t)
        zero = q.dtype.type(0)
        force = (zero, zero, zero)
        torque = force
        for at in range(starts[i], starts[i + 1]):
            j = partners[at]
            if balls_meet(i, j, q, reach):
                force, torque = both_forces(i, j, clock, side, own, shapes, (low, high), force, torque)
        return (force[0], force[1], force[2], torque[0], torque[1], torque[2])

    @device
    def pair_force_adjoint(
        i, clock, q, u, starts, partners, reach, roundness, cluster_starts, cluster_centre, cluster_radius,
        point_starts, points, kind, dims, low, high, grid_start, grid_size, grid_origin, grid_cell, grid_values,
        k_n, k_t, adj_f, adj_k_n, adj_k_t,
    ):
        """Sum the cotangents of body i's state and contact parameters."""
        own = (reach, roundness, cluster_starts, cluster_centre, cluster_radius, point_starts, points)
        shapes = (kind, dims, grid_start, grid_size, grid_origin, grid_cell, grid_values)
        side = (q, u, k_n, k_t)
        zero = q.dtype.type(0)
        a_x = (zero, zero, zero)
        a_v = a_x
        a_w = a_x
        a_R = (zero, zero, zero, zero, zero, zero, zero, zero, zero)
        for at in range(starts[i], starts[i + 1]):
            j = partners[at]
            if balls_meet(i, j, q, reach):
                a_x, a_v, a_w, a_R = both_forces_adjoint(
                    i, j, clock, side, own, shapes, (low, high), adj_f, (adj_k_n, adj_k_t), a_x, a_v, a_w, a_R
                )
        return body_cotangents(i, q, a_x, a_R, a_v, a_w)

    return pair_force, pair_force_adjoint
