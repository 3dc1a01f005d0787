"""Triangles set up for exact coverage.

The outline of a triangle has six columns for each of its edges 01, 12, 20: a point (x, y) of it, the unit normal that
points inward, 1 / length (negative where the triangle runs clockwise), and the factor that turns the distance from the
edge into the part of the opposite corner in 1 / depth. Then the least and the largest depth of the corners.

``torn`` has a bit for each edge at which the surface ends in the image: boundaries, and folds between a
face turned to the camera and one turned away. Between torn edges the number of layers is constant.
"""

from __future__ import annotations

from diffloom_kernels import absolute, constant, device, maximum, minimum, sqrt, where
from diffloom_raster.kernels import load_corner, load_depth, pixel_range, set_box, set_plane, twice_area

#: Columns of an edge in the outline; columns of the least and the largest depth; all columns.
EDGE, NEAR, FAR, OUTLINE = 6, 18, 19, 20
#: Distance of a pixel's corners from its centre, with a little to spare.
DIAGONAL = 0.7072


@device
def set_edge(t, k, x0, y0, x1, y1, opposite, sign, area, outline, planes):
    """Edge k of triangle t, from (x0, y0) to (x1, y1); opposite: depth of the corner opposite of it."""
    one = constant(x0, 1)
    dx, dy = x1 - x0, y1 - y0
    length = sqrt(dx * dx + dy * dy)
    scale = sign / length
    at = EDGE * k
    outline[t, at], outline[t, at + 1] = x0, y0
    outline[t, at + 2], outline[t, at + 3] = -dy * scale, dx * scale
    outline[t, at + 4] = scale
    outline[t, at + 5] = length / (absolute(area) * opposite)
    set_plane(t, k, x0, y0, dx * sign, dy * sign, constant(one, DIAGONAL), planes)


@device
def is_drawn(t, area, rules, edges):
    """Return true if triangle t of a signed area is drawn; y points down, so a front has a negative area."""
    zero = constant(area, 0)
    return (absolute(area) > rules.smallest) & ((edges.side[t % edges.side.shape[0]] == 0) | (area < zero))


@device
def is_torn(t, k, area, mesh, rules, edges, screen):
    """Return true if the surface ends, or turns over, at edge k of triangle t."""
    face = t % edges.neighbour.shape[0]
    beyond = edges.neighbour[face, k]
    if beyond < 0:
        return True
    other = t - face + beyond
    across = twice_area(load_corner(screen, mesh, other))
    zero = constant(area, 0)
    return (not is_drawn(other, across, rules, edges)) or ((across < zero) != (area < zero))


@device
def set_up_triangle(t, grid, mesh, rules, edges, screen, triangles):
    """Box, half planes, outline and torn edges of triangle t."""
    box, planes, outline = triangles.box, triangles.planes, triangles.outline
    v, z = load_corner(screen, mesh, t), load_depth(screen, mesh, t)
    half, zero, one = constant(v[0], 0.5), constant(v[0], 0), constant(v[0], 1)
    area = twice_area(v)
    set_box(t, box, 0, 0, -1, -1)
    triangles.torn[t] = 0
    near, far = minimum(minimum(z[0], z[1]), z[2]), maximum(maximum(z[0], z[1]), z[2])
    outline[t, NEAR], outline[t, FAR] = near, far
    if not is_drawn(t, area, rules, edges):
        return
    left, right = minimum(minimum(v[0], v[2]), v[4]), maximum(maximum(v[0], v[2]), v[4])
    top, bottom = minimum(minimum(v[1], v[3]), v[5]), maximum(maximum(v[1], v[3]), v[5])
    first, last = pixel_range(left - half, right + half, grid.width)
    highest, lowest = pixel_range(top - half, bottom + half, grid.height)
    set_box(t, box, first, highest, last, lowest)
    if last < first or lowest < highest:
        return
    sign = where(area > zero, one, -one)
    set_edge(t, 0, v[0], v[1], v[2], v[3], z[2], sign, area, outline, planes)
    set_edge(t, 1, v[2], v[3], v[4], v[5], z[0], sign, area, outline, planes)
    set_edge(t, 2, v[4], v[5], v[0], v[1], z[1], sign, area, outline, planes)
    torn = 0
    for k in range(3):
        if is_torn(t, k, area, mesh, rules, edges, screen):
            torn += 1 << k
    triangles.torn[t] = torn


@device
def is_before(t, u, outline):
    """Return true if triangle t comes before triangle u in a tile's list: by least depth, then by number."""
    a, b = outline[t, NEAR], outline[u, NEAR]
    return a < b or (a == b and t < u)


@device
def sort_tile(tile, lists, outline, limit):
    """Sort the list of a tile from front to back, and note where slabs end: entries after a slab are all deeper."""
    begin, end = lists.start[tile], lists.start[tile + 1]
    gap = 1
    while 3 * gap + 1 < end - begin:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(begin + gap, end):
            t, j = lists.triangle[i], i
            while j >= begin + gap and is_before(t, lists.triangle[j - gap], outline):
                lists.triangle[j] = lists.triangle[j - gap]
                j -= gap
            lists.triangle[j] = t
        gap //= 3
    if begin == end:
        return
    deepest = outline[lists.triangle[begin], FAR]
    for i in range(begin, end):
        deepest = maximum(deepest, outline[lists.triangle[i], FAR])
        limit.ends[i] = 1 if i + 1 == end or deepest < outline[lists.triangle[i + 1], NEAR] else 0
