"""Signed distance and outward normal of a body's shape at a point in its frame, and the transpose.

Shapes are spheres, boxes, capsules along y, and meshes as a grid of distances. ``shapes`` is the tuple (kind, dims,
grid_start, grid_size, grid_origin, grid_cell, grid_values).
"""

from diffloom_kernels import add3, constant, device, ld3, mul3
from diffloom_mechanics.contact.grid_kernels import grid_hessian_times, grid_node, grid_value, inside_grid
from diffloom_mechanics.contact.shape_kernels import (
    box_shape,
    box_shape_adjoint,
    capsule_shape,
    capsule_shape_adjoint,
    length_and_direction,
    length_and_direction_adjoint,
    sphere_shape,
    sphere_shape_adjoint,
)

SPHERE = 0
BOX = 1
CAPSULE = 2
GRID = 3


@device
def shape_distance(b, p, shapes):
    """Distance of p from the surface of shape b, negative inside, and the unit normal there."""
    kind, dims = shapes[0][b], ld3(shapes[1], b)
    if kind == SPHERE:
        return sphere_shape(p, dims[0])
    if kind == CAPSULE:
        return capsule_shape(p, dims[0], dims[1])
    if kind == BOX:
        return box_shape(p, dims)
    value, g = grid_value(p, ld3(shapes[4], b), shapes[5][b], grid_size(b, shapes), shapes[2][b], shapes[6])
    _, n = length_and_direction(g)
    return value, n


@device
def shape_distance_adjoint(b, p, shapes, adj_distance, adj_normal):
    """Cotangent of p, in the same branch."""
    kind, dims = shapes[0][b], ld3(shapes[1], b)
    if kind == SPHERE:
        return sphere_shape_adjoint(p, dims[0], adj_distance, adj_normal)[0]
    if kind == CAPSULE:
        return capsule_shape_adjoint(p, dims[0], dims[1], adj_distance, adj_normal)[0]
    if kind == BOX:
        return box_shape_adjoint(p, dims, adj_distance, adj_normal)[0]
    origin, cell, size, start = ld3(shapes[4], b), shapes[5][b], grid_size(b, shapes), shapes[2][b]
    value, g = grid_value(p, origin, cell, size, start, shapes[6])
    a_g = length_and_direction_adjoint(g, constant(p[0], 0), adj_normal)
    return add3(mul3(g, adj_distance), grid_hessian_times(p, origin, cell, size, start, shapes[6], a_g))


@device
def grid_size(b, shapes):
    """Nodes of the grid of shape b along each axis."""
    return (shapes[3][b, 0], shapes[3][b, 1], shapes[3][b, 2])


@device
def may_touch(b, p, shapes, limit):
    """False when p is certainly farther than ``limit`` from shape b: outside the grid, or its node says so."""
    if shapes[0][b] != GRID:
        return True
    size = grid_size(b, shapes)
    node, _, _ = grid_node(p, ld3(shapes[4], b), shapes[5][b])
    if not inside_grid(node, size):
        return False
    at = shapes[2][b] + (node[0] * size[1] + node[1]) * size[2] + node[2]
    # The spline is a mean over nodes at most a cell's diagonal (1.74 cells) away, and distances change no faster.
    return shapes[6][at] - constant(p[0], 1.8) * shapes[5][b] < limit
