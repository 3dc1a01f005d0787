"""Contact of particles and of rigid bodies with an obstacle of any shape, and the adjoints.

An obstacle stands at ``place`` with the axes ``turn`` (a rotation matrix), one row per node; ``distance`` and its
adjoint are the device functions of its shape (see obstacle_contact.ObstacleShape). The contact law gives the force for
a gap.

Shapes of obstacles take sizes from row i of ``size`` and constants from two arrays:

distance(i, p, size, layout, table) -> distance, normal; adjoint(i, p, size, layout, table, adj_distance, adj_normal,
adj_size) -> adj_p, and adds to row i of adj_size.
"""

import functools

from diffloom_kernels import (
    add3,
    add33,
    add_to3,
    constant,
    cross3,
    device,
    dot3,
    floor,
    ld3,
    ld6,
    ld7,
    ld33,
    matvec33,
    mul3,
    neg3,
    outer3,
    quat_matrix,
    quat_matrix_adjoint,
    reciprocal,
    st33,
    sub3,
    tmatvec33,
)
from diffloom_mechanics.contact.point_kernels import point_contact
from diffloom_mechanics.contact.shape_kernels import (
    box_shape,
    box_shape_adjoint,
    capsule_shape,
    capsule_shape_adjoint,
    grid_hessian_times,
    grid_node,
    grid_value,
    inside_grid,
    length_and_direction,
    length_and_direction_adjoint,
    plane_shape,
    plane_shape_adjoint,
    sheet_sums,
    sphere_shape,
    sphere_shape_adjoint,
    spline,
)

#: Index of the first distance of a mesh's grid in its table, after origin, cell and margin.
GRID_START = 5
#: Index of the first height in the table of a height field, after the spacing along x and z.
HEIGHT_START = 2


@device
def sphere_distance(i, p, size, layout, table):
    """Distance of a sphere. size: radius."""
    return sphere_shape(p, size[i, 0])


@device
def sphere_distance_adjoint(i, p, size, layout, table, adj_distance, adj_normal, adj_size):
    """Transpose of sphere_distance."""
    adj_p, adj_radius = sphere_shape_adjoint(p, size[i, 0], adj_distance, adj_normal)
    adj_size[i, 0] += adj_radius
    return adj_p


@device
def box_distance(i, p, size, layout, table):
    """Distance of a box. size: half the edge lengths."""
    return box_shape(p, ld3(size, i))


@device
def box_distance_adjoint(i, p, size, layout, table, adj_distance, adj_normal, adj_size):
    """Transpose of box_distance."""
    adj_p, adj_half = box_shape_adjoint(p, ld3(size, i), adj_distance, adj_normal)
    add_to3(adj_size, i, adj_half)
    return adj_p


@device
def capsule_distance(i, p, size, layout, table):
    """Distance of a capsule. size: radius, half the length of the straight part."""
    return capsule_shape(p, size[i, 0], size[i, 1])


@device
def capsule_distance_adjoint(i, p, size, layout, table, adj_distance, adj_normal, adj_size):
    """Transpose of capsule_distance."""
    adj_p, adj_radius, adj_half = capsule_shape_adjoint(p, size[i, 0], size[i, 1], adj_distance, adj_normal)
    adj_size[i, 0] += adj_radius
    adj_size[i, 1] += adj_half
    return adj_p


@device
def plane_distance(i, p, size, layout, table):
    """Distance of a plane. size: the unit normal."""
    return plane_shape(p, ld3(size, i))


@device
def plane_distance_adjoint(i, p, size, layout, table, adj_distance, adj_normal, adj_size):
    """Transpose of plane_distance."""
    adj_p, a = plane_shape_adjoint(p, ld3(size, i), adj_distance, adj_normal)
    add_to3(adj_size, i, a)
    return adj_p


@device
def height_spline(x, z, layout, table):
    """Return True if (x, z) lies over the grid, and there the spline's height, its two slopes and three second
    derivatives.
    """
    zero = constant(x, 0)
    half = constant(x, 0.5)
    a = reciprocal(table[0])
    b = reciprocal(table[1])
    s = x * a + half * constant(x, layout[0] - 1)
    t = z * b + half * constant(x, layout[1] - 1)
    k = int(floor(s + half))
    m = int(floor(t + half))
    if k < 1 or m < 1 or k >= layout[0] - 1 or m >= layout[1] - 1:
        return False, zero, zero, zero, zero, zero, zero
    at = HEIGHT_START + (k - 1) * layout[1] + m - 1
    along_x, along_z = spline(s - floor(s + half)), spline(t - floor(t + half))
    h, h_x, h_z, h_xx, h_xz, h_zz = sheet_sums(at, layout[1], along_x, along_z, table)
    return True, h, h_x * a, h_z * b, h_xx * a * a, h_xz * a * b, h_zz * b * b


@device
def height_distance(i, p, size, layout, table):
    """(y - s h) / L along (-s h_x, 1, -s h_z) / L of length 1, with the factor s on the heights: size.

    It is exact where the ground is flat, level or not; beside the grid there is no ground.
    """
    over, h, h_x, h_z, _, _, _ = height_spline(p[0], p[2], layout, table)
    one = constant(p[0], 1)
    if not over:
        return constant(p[0], 1e30), (p[0] - p[0], one, p[0] - p[0])
    s = size[i, 0]
    L, n = length_and_direction((-(s * h_x), one, -(s * h_z)))
    return (p[1] - s * h) / L, n


@device
def height_distance_adjoint(i, p, size, layout, table, adj_distance, adj_normal, adj_size):
    """Transpose of height_distance."""
    over, h, h_x, h_z, h_xx, h_xz, h_zz = height_spline(p[0], p[2], layout, table)
    one = constant(p[0], 1)
    zero = constant(p[0], 0)
    if not over:
        return (zero, zero, zero)
    s = size[i, 0]
    across = (-(s * h_x), one, -(s * h_z))
    L, n = length_and_direction(across)
    a_y = adj_distance / L
    a = length_and_direction_adjoint(across, -(a_y * (p[1] - s * h)) / L, adj_normal)
    adj_size[i, 0] += -(h * a_y) - h_x * a[0] - h_z * a[2]
    return (
        -(s * (h_x * a_y + h_xx * a[0] + h_xz * a[2])), a_y, -(s * (h_z * a_y + h_xz * a[0] + h_zz * a[2])),
    )


@device
def grid_of(layout, table):
    """Return nodes along each axis, origin, cell and margin of a mesh's grid."""
    return (layout[0], layout[1], layout[2]), (table[0], table[1], table[2]), table[3], table[4]


@device
def beside_grid(p, nodes, origin, cell, margin):
    """Return a lower bound of the distance of a point outside the grid, and the direction."""
    half = constant(cell, 0.5) * cell
    reach = (
        half * constant(cell, nodes[0] - 2), half * constant(cell, nodes[1] - 2), half * constant(cell, nodes[2] - 2)
    )
    middle = (origin[0] + reach[0] + half, origin[1] + reach[1] + half, origin[2] + reach[2] + half)
    d, n = box_shape(sub3(p, middle), reach)
    return d + margin, n


@device
def mesh_distance(i, p, size, layout, table):
    """s D(p / s), with the scale s of the mesh: size, and D the spline of its grid of distances."""
    s = size[i, 0]
    own = mul3(p, reciprocal(s))
    nodes, origin, cell, margin = grid_of(layout, table)
    node, _, _ = grid_node(own, origin, cell)
    if not inside_grid(node, nodes):
        far, way = beside_grid(own, nodes, origin, cell, margin)
        return s * far, way
    value, g = grid_value(own, origin, cell, nodes, GRID_START, table)
    _, n = length_and_direction(g)
    return s * value, n


@device
def mesh_distance_adjoint(i, p, size, layout, table, adj_distance, adj_normal, adj_size):
    """Transpose of mesh_distance."""
    zero = constant(p[0], 0)
    s = size[i, 0]
    inverse = reciprocal(s)
    own = mul3(p, inverse)
    nodes, origin, cell, _ = grid_of(layout, table)
    node, _, _ = grid_node(own, origin, cell)
    if not inside_grid(node, nodes):
        return (zero, zero, zero)
    value, g = grid_value(own, origin, cell, nodes, GRID_START, table)
    a_g = length_and_direction_adjoint(g, zero, adj_normal)
    a_own = add3(
        mul3(g, s * adj_distance), grid_hessian_times(own, origin, cell, nodes, GRID_START, table, a_g)
    )
    a_p = mul3(a_own, inverse)
    adj_size[i, 0] += value * adj_distance - dot3(a_p, own)
    return a_p


@functools.cache
def posed_shape(distance, adjoint):
    """Return distance and normal of a shape in the world, and their adjoint."""

    @device
    def in_world(i, x, layout, table, place, turn, size):
        """d(l) and R n(l) with l = R^T (x - place)."""
        R = ld33(turn, i)
        d, n = distance(i, tmatvec33(R, sub3(x, ld3(place, i))), size, layout, table)
        return d, matvec33(R, n)

    @device
    def in_world_adjoint(
        i, x, layout, table, place, turn, size, adj_distance, adj_normal, adj_place, adj_turn, adj_size
    ):
        """Transpose of in_world: cotangent of x; adj_R = (x - place) adj_l^T + adj_normal n^T."""
        R = ld33(turn, i)
        away = sub3(x, ld3(place, i))
        own = tmatvec33(R, away)
        _, n = distance(i, own, size, layout, table)
        a_own = adjoint(i, own, size, layout, table, adj_distance, tmatvec33(R, adj_normal), adj_size)
        a_x = matvec33(R, a_own)
        add_to3(adj_place, i, neg3(a_x))
        st33(adj_turn, i, add33(ld33(adj_turn, i), add33(outer3(away, a_own), outer3(adj_normal, n))))
        return a_x

    return in_world, in_world_adjoint


@functools.cache
def particle_obstacle(distance, adjoint, normal, friction):
    """Return the force on a particle, which touches at its place, and its adjoint."""
    in_world, in_world_adjoint = posed_shape(distance, adjoint)
    contact_force, contact_adjoint, load, add, load_friction, add_friction = point_contact(normal, friction)

    @device
    def particle_force(i, clock, q, u, layout, table, place, turn, size, k_n, k_t):
        """Return the force of the contact law for the gap and the normal of the shape."""
        zero = q.dtype.type(0)
        d, n = in_world(i, ld3(q, i), layout, table, place, turn, size)
        if d >= zero:
            return (zero, zero, zero)
        return contact_force(clock, d, ld3(u, i), n, load(k_n, i), load_friction(k_t, i))

    @device
    def particle_force_adjoint(
        i, clock, q, u, layout, table, place, turn, size, k_n, k_t,
        adj_f, adj_place, adj_turn, adj_size, adj_k_n, adj_k_t,
    ):
        """Transpose of particle_force."""
        zero = q.dtype.type(0)
        x = ld3(q, i)
        d, n = in_world(i, x, layout, table, place, turn, size)
        if d >= zero:
            return (zero, zero, zero), (zero, zero, zero)
        a_d, a_v, a_n, a_kn, a_kt = contact_adjoint(
            clock, d, ld3(u, i), n, load(k_n, i), load_friction(k_t, i), ld3(adj_f, i)
        )
        add(adj_k_n, i, a_kn)
        add_friction(adj_k_t, i, a_kt)
        a_x = in_world_adjoint(
            i, x, layout, table, place, turn, size, a_d, a_n, adj_place, adj_turn, adj_size
        )
        return a_x, a_v

    return particle_force, particle_force_adjoint


@functools.cache
def body_obstacle(distance, adjoint, normal, friction):
    """Return force and torque on a rigid body, which touches with its contact points, and their adjoint."""
    in_world, in_world_adjoint = posed_shape(distance, adjoint)
    contact_force, contact_adjoint, load, add, load_friction, add_friction = point_contact(normal, friction)

    @device
    def body_force(
        i, clock, q, u, slope, reach, roundness, cluster_starts, cluster_centre, cluster_radius, point_starts, points,
        layout, table, place, turn, size, k_n, k_t,
    ):
        """Sum of f and arm x f over the points whose balls touch, where arm = R p - roundness n.

        The arm leads from the centre to the place at which the ball around p touches. Clusters that are too far away
        are left out, because a distance changes by at most ``slope`` per metre.
        """
        zero = q.dtype.type(0)
        force = (zero, zero, zero)
        torque = (zero, zero, zero)
        x, r = ld7(q, i)
        d, n = in_world(i, x, layout, table, place, turn, size)
        if not d > slope[0] * reach[i]:
            v, w = ld6(u, i)
            R = quat_matrix(r)
            rho = roundness[i]
            kn = load(k_n, i)
            kt = load_friction(k_t, i)
            for c in range(cluster_starts[i], cluster_starts[i + 1]):
                middle = add3(x, matvec33(R, ld3(cluster_centre, c)))
                d, n = in_world(i, middle, layout, table, place, turn, size)
                if not d - rho > slope[0] * cluster_radius[c]:
                    for j in range(point_starts[c], point_starts[c + 1]):
                        offset = matvec33(R, ld3(points, j))
                        d, n = in_world(i, add3(x, offset), layout, table, place, turn, size)
                        if d < rho:
                            arm = sub3(offset, mul3(n, rho))
                            speed = add3(v, cross3(w, arm))
                            f = contact_force(clock, d - rho, speed, n, kn, kt)
                            force = add3(force, f)
                            torque = add3(torque, cross3(arm, f))
        return (force[0], force[1], force[2], torque[0], torque[1], torque[2])

    @device
    def body_force_adjoint(
        i, clock, q, u, slope, reach, roundness, cluster_starts, cluster_centre, cluster_radius, point_starts, points,
        layout, table, place, turn, size, k_n, k_t,
        adj_f, adj_place, adj_turn, adj_size, adj_k_n, adj_k_t,
    ):
        """Transpose of body_force, over the same points."""
        zero = q.dtype.type(0)
        a_x = (zero, zero, zero)
        a_v = (zero, zero, zero)
        a_w = (zero, zero, zero)
        a_r = (zero, zero, zero, zero)
        x, r = ld7(q, i)
        d, n = in_world(i, x, layout, table, place, turn, size)
        if not d > slope[0] * reach[i]:
            v, w = ld6(u, i)
            R = quat_matrix(r)
            a_R = (zero, zero, zero, zero, zero, zero, zero, zero, zero)
            rho = roundness[i]
            kn = load(k_n, i)
            kt = load_friction(k_t, i)
            a_force, a_torque = ld6(adj_f, i)
            for c in range(cluster_starts[i], cluster_starts[i + 1]):
                middle = add3(x, matvec33(R, ld3(cluster_centre, c)))
                d, n = in_world(i, middle, layout, table, place, turn, size)
                if not d - rho > slope[0] * cluster_radius[c]:
                    for j in range(point_starts[c], point_starts[c + 1]):
                        p = ld3(points, j)
                        offset = matvec33(R, p)
                        at = add3(x, offset)
                        d, n = in_world(i, at, layout, table, place, turn, size)
                        if d < rho:
                            arm = sub3(offset, mul3(n, rho))
                            speed = add3(v, cross3(w, arm))
                            f = contact_force(clock, d - rho, speed, n, kn, kt)
                            b_d, b_v, b_n, b_kn, b_kt = contact_adjoint(
                                clock, d - rho, speed, n, kn, kt, add3(a_force, cross3(a_torque, arm))
                            )
                            a_arm = add3(cross3(f, a_torque), cross3(b_v, w))
                            a_at = in_world_adjoint(
                                i, at, layout, table, place, turn, size, b_d, sub3(b_n, mul3(a_arm, rho)),
                                adj_place, adj_turn, adj_size,
                            )
                            a_x = add3(a_x, a_at)
                            a_v = add3(a_v, b_v)
                            a_w = add3(a_w, cross3(arm, b_v))
                            a_R = add33(a_R, outer3(add3(a_arm, a_at), p))
                            add(adj_k_n, i, b_kn)
                            add_friction(adj_k_t, i, b_kt)
            a_r = quat_matrix_adjoint(r, a_R)
        return (
            (a_x[0], a_x[1], a_x[2], a_r[0], a_r[1], a_r[2], a_r[3]),
            (a_v[0], a_v[1], a_v[2], a_w[0], a_w[1], a_w[2]),
        )

    return body_force, body_force_adjoint
