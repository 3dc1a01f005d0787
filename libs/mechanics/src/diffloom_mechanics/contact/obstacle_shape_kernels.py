"""The shapes of obstacles as obstacle_kernels take them: sizes from row i of ``size``, constants from two arrays.

distance(i, p, size, layout, table) -> distance, normal; adjoint(i, p, size, layout, table, adj_distance, adj_normal,
adj_size) -> adj_p, and adds to row i of adj_size.
"""

from diffloom_kernels import add3, add_to3, constant, device, dot3, floor, ld3, mul3, reciprocal, sub3
from diffloom_mechanics.contact.grid_kernels import (
    grid_hessian_times,
    grid_node,
    grid_value,
    inside_grid,
    sheet_sums,
    spline,
)
from diffloom_mechanics.contact.shape_kernels import (
    box_shape,
    box_shape_adjoint,
    capsule_shape,
    capsule_shape_adjoint,
    length_and_direction,
    length_and_direction_adjoint,
    plane_shape,
    plane_shape_adjoint,
    sphere_shape,
    sphere_shape_adjoint,
)

#: Where the distances of a mesh's grid begin in its table, after origin, cell and margin.
GRID_START = 5
#: Where the heights begin in the table of a height field, after the spacing along x and z.
HEIGHT_START = 2


@device
def sphere_distance(i, p, size, layout, table):
    """size: radius."""
    return sphere_shape(p, size[i, 0])


@device
def sphere_distance_adjoint(i, p, size, layout, table, adj_distance, adj_normal, adj_size):
    """Transpose of sphere_distance."""
    adj_p, adj_radius = sphere_shape_adjoint(p, size[i, 0], adj_distance, adj_normal)
    adj_size[i, 0] += adj_radius
    return adj_p


@device
def box_distance(i, p, size, layout, table):
    """size: half the edge lengths."""
    return box_shape(p, ld3(size, i))


@device
def box_distance_adjoint(i, p, size, layout, table, adj_distance, adj_normal, adj_size):
    """Transpose of box_distance."""
    adj_p, adj_half = box_shape_adjoint(p, ld3(size, i), adj_distance, adj_normal)
    add_to3(adj_size, i, adj_half)
    return adj_p


@device
def capsule_distance(i, p, size, layout, table):
    """size: radius, half the length of the straight part."""
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
    """size: the unit normal."""
    return plane_shape(p, ld3(size, i))


@device
def plane_distance_adjoint(i, p, size, layout, table, adj_distance, adj_normal, adj_size):
    """Transpose of plane_distance."""
    adj_p, a = plane_shape_adjoint(p, ld3(size, i), adj_distance, adj_normal)
    add_to3(adj_size, i, a)
    return adj_p


@device
def height_spline(x, z, layout, table):
    """Whether (x, z) lies over the grid, and there the spline's height, its two slopes and three second derivatives."""
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
    """(y - s h) / L along (-s h_x, 1, -s h_z) / L of length 1, with the factor s on the heights: size. Exact where the
    ground is flat, level or not; there is nothing to touch beside the grid."""
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
    """Nodes along each axis, origin, cell and margin of a mesh's grid."""
    return (layout[0], layout[1], layout[2]), (table[0], table[1], table[2]), table[3], table[4]


@device
def beside_grid(p, nodes, origin, cell, margin):
    """A distance that is not above the true one, for a point outside the grid, and the way there."""
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
