"""Triangles set up: corners in the image, boxes of the pixels in reach, half planes for the tiles."""

from __future__ import annotations

from diffloom_kernels import absolute, constant, device, maximum, minimum, sqrt
from diffloom_raster.triangle_kernels import corner_rows

#: Columns of a triangle's outline: x, y of corners 0, 1, 2; inverse squared lengths of edges 01, 12, 20; depths of the
#: corners; what their weights are divided by (the depths, or 1 without perspective), inverted; the least depth.
LENGTH, DEPTH, INVERSE, NEAREST, OUTLINE = 6, 9, 12, 15, 16


@device
def pixel_floor(x, low, high):
    """floor(x) as an int, limited to [low, high]."""
    if not x > constant(x, low):
        return low
    if x >= constant(x, high):
        return high
    n = int(x)
    return n - 1 if constant(x, n) > x else n


@device
def edge_plane(t, k, ax, ay, bx, by, reach, planes):
    """Half plane k: where a pixel within ``reach`` of the triangle must lie, with a little to spare for rounding."""
    R = planes.dtype.type
    ex, ey = bx - ax, by - ay
    length = sqrt(ex * ex + ey * ey)
    planes[t, 3 * k] = -ey
    planes[t, 3 * k + 1] = ex
    planes[t, 3 * k + 2] = ey * ax - ex * ay + length * (reach + R(0.01))


@device
def leave_out(t, box):
    """Give triangle t an empty box."""
    box[t, 0], box[t, 1], box[t, 2], box[t, 3] = 0, 0, -1, -1


@device
def fill_box(t, x0, y0, x1, y1, x2, y2, grid, reach, box):
    """Pixels whose centres lie in the triangle's box grown by reach; whether there are any in the image."""
    height, width = grid.height, grid.width
    zero, half = constant(reach, 0), constant(reach, 0.5)
    across, down = half * constant(reach, width), half * constant(reach, height)
    left = minimum(x0, minimum(x1, x2)) - reach + across - half
    right = maximum(x0, maximum(x1, x2)) + reach + across - half
    top = minimum(y0, minimum(y1, y2)) - reach + down - half
    bottom = maximum(y0, maximum(y1, y2)) + reach + down - half
    if right < zero or bottom < zero or left > constant(reach, width - 1) or top > constant(reach, height - 1):
        leave_out(t, box)
        return False
    box[t, 0] = -pixel_floor(-left, -width, 0)
    box[t, 1] = -pixel_floor(-top, -height, 0)
    box[t, 2] = pixel_floor(right, 0, width - 1)
    box[t, 3] = pixel_floor(bottom, 0, height - 1)
    return True


@device
def set_up(t, grid, mesh, rules, screen, triangles):
    """Outline, box and half planes of triangle t. Corners 0 and 2 change places where that makes the area positive.

    The edge between corners 2 and 0 may lie inside a face that was cut: an inverse length of 0 shrinks it to a corner
    that other edges have too.
    """
    R = screen.dtype.type
    outline, box, planes, swapped = triangles.outline, triangles.box, triangles.planes, triangles.swapped
    reach = rules.reach
    i, j, k = corner_rows(t, mesh.points, mesh.faces)
    area = (screen[j, 0] - screen[i, 0]) * (screen[k, 1] - screen[i, 1]) - (screen[j, 1] - screen[i, 1]) * (
        screen[k, 0] - screen[i, 0]
    )
    swapped[t] = area < R(0.0)
    # y points down, so a face turned to the camera has a negative area.
    if not absolute(area) > rules.least_area or (rules.cull and area > R(0.0)):
        leave_out(t, box)
        return
    if swapped[t]:
        i, k = k, i
    x0, y0, x1, y1, x2, y2 = screen[i, 0], screen[i, 1], screen[j, 0], screen[j, 1], screen[k, 0], screen[k, 1]
    if not fill_box(t, x0, y0, x1, y1, x2, y2, grid, reach, box):
        return
    outline[t, 0], outline[t, 1], outline[t, 2], outline[t, 3], outline[t, 4], outline[t, 5] = x0, y0, x1, y1, x2, y2
    outline[t, LENGTH] = R(1.0) / ((x1 - x0) * (x1 - x0) + (y1 - y0) * (y1 - y0))
    outline[t, LENGTH + 1] = R(1.0) / ((x2 - x1) * (x2 - x1) + (y2 - y1) * (y2 - y1))
    outline[t, LENGTH + 2] = R(1.0) / ((x0 - x2) * (x0 - x2) + (y0 - y2) * (y0 - y2))
    if mesh.sibling.shape[0] > 0 and mesh.sibling[t] >= 0:
        outline[t, LENGTH + 2] = R(0.0)
    z0, z1, z2 = screen[i, 2], screen[j, 2], screen[k, 2]
    outline[t, DEPTH], outline[t, DEPTH + 1], outline[t, DEPTH + 2] = z0, z1, z2
    flat = rules.perspective == 0
    outline[t, INVERSE] = R(1.0) if flat else R(1.0) / z0
    outline[t, INVERSE + 1] = R(1.0) if flat else R(1.0) / z1
    outline[t, INVERSE + 2] = R(1.0) if flat else R(1.0) / z2
    outline[t, NEAREST] = minimum(z0, minimum(z1, z2))
    edge_plane(t, 0, x0, y0, x1, y1, reach, planes)
    edge_plane(t, 1, x1, y1, x2, y2, reach, planes)
    edge_plane(t, 2, x2, y2, x0, y0, reach, planes)
