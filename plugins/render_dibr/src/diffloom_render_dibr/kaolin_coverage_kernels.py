"""Which triangle a pixel shows, as Kaolin decides it.

Corners lie on the plane [-1, 1]^2, x right and y up; pixel (i, j) has its centre at ((2j+1-W)/W, (H-1-2i)/H). Heights z
are negative in front of the camera and larger is nearer. A triangle is a candidate where the centre lies in its tight
box, closed at the low and open at the high end; depth is affine on the image; the first of equals wins.
"""

from __future__ import annotations

from diffloom_kernels import constant, device, maximum, minimum
from diffloom_raster.bin_kernels import TILE, tile_corner
from diffloom_raster.triangle_kernels import load_corner, load_depth, set_box

from .kaolin_weight_kernels import affine_weights


@device
def to_plane(i, grid, point):
    """Take point i from pixels and depth to Kaolin's plane."""
    R = point.dtype.type
    point[i, 0] *= R(2.0) / R(grid.width)
    point[i, 1] *= R(-2.0) / R(grid.height)
    point[i, 2] = -point[i, 2]


@device
def from_plane(i, grid, adj_point):
    """The adjoint of to_plane, in place."""
    R = adj_point.dtype.type
    adj_point[i, 0] *= R(2.0) / R(grid.width)
    adj_point[i, 1] *= R(-2.0) / R(grid.height)
    adj_point[i, 2] = -adj_point[i, 2]


@device
def plane_box(v, grown):
    """Lowest and highest x and y of triangle v, grown on each side."""
    return (
        minimum(minimum(v[0], v[2]), v[4]) - grown, maximum(maximum(v[0], v[2]), v[4]) + grown,
        minimum(minimum(v[1], v[3]), v[5]) - grown, maximum(maximum(v[1], v[3]), v[5]) + grown,
    )


@device
def holds(b, x, y):
    """Whether (x, y) lies in a plane box, closed at the low and open at the high end."""
    return x >= b[0] and x < b[1] and y >= b[2] and y < b[3]


@device
def about_pixels(low, high, size):
    """First and last pixel along an axis from -1 to 1; one more than rounding asks for: pixels are tested exactly."""
    half, one = constant(low, 0.5) * constant(low, size), constant(low, 1)
    if not (high >= -one and low <= one):
        return 0, -1
    first = int((maximum(low, -one) + one) * half) - 1
    last = int((minimum(high, one) + one) * half) + 1
    return maximum(first, 0), minimum(last, size - 1)


@device
def kaolin_set_up(n, grid, near, point, mesh, reach, triangles):
    """Pixel boxes that hold triangle n: ``inner`` as it is, ``box`` grown by reach; planes that keep every tile.

    A triangle with a corner nearer than ``near`` is left out: nothing is cut here.
    """
    box, inner, planes = triangles.box, triangles.inner, triangles.planes
    v, z = load_corner(point, mesh, n), load_depth(point, mesh, n)
    b = plane_box(v, reach)
    j0, j1 = about_pixels(b[0], b[1], grid.width)
    i0, i1 = about_pixels(-b[3], -b[2], grid.height)
    if maximum(maximum(z[0], z[1]), z[2]) > -near:
        j1 = -1
    set_box(n, box, j0, i0, j1, i1)
    b = plane_box(v, constant(reach, 0))
    left, right = about_pixels(b[0], b[1], grid.width)
    top, bottom = about_pixels(-b[3], -b[2], grid.height)
    set_box(n, inner, left, top, -1 if j1 < j0 else right, bottom)
    for k in range(3):
        planes[n, 3 * k], planes[n, 3 * k + 1], planes[n, 3 * k + 2] = 0, 0, 1


@device
def kaolin_cover(tile, grid, mesh, lists, inner, point, valid, guard, nearest, coverage):
    """face_index of the pixels of a tile: the triangle with the largest affine z, -1 for none."""
    face_index, multiplier = coverage.face_index, guard.multiplier
    frame, top, left = tile_corner(tile, grid)
    bottom, right = minimum(top + TILE, grid.height), minimum(left + TILE, grid.width)
    zero = constant(guard.eps, 0)
    for i in range(top, bottom):
        for j in range(left, right):
            face_index[frame, i, j] = -1
    for k in range(lists.start[tile], lists.start[tile + 1]):
        n = lists.triangle[k]
        if valid.shape[0] > 0 and not valid[n]:
            continue
        v, z = load_corner(point, mesh, n), load_depth(point, mesh, n)
        b = scaled_box(plane_box(v, zero), multiplier)
        for i in range(maximum(top, inner[n, 1]), minimum(bottom, inner[n, 3] + 1)):
            for j in range(maximum(left, inner[n, 0]), minimum(right, inner[n, 2] + 1)):
                x, y = grid.columns[j], grid.rows[i]
                if holds(b, x * multiplier, y * multiplier):
                    w = affine_weights(x, y, v, guard)
                    if w[0] >= zero and w[1] >= zero and w[2] >= zero:
                        d = w[0] * z[0] + w[1] * z[1] + w[2] * z[2]
                        if face_index[frame, i, j] < 0 or d > nearest[frame, i, j]:
                            nearest[frame, i, j] = d
                            face_index[frame, i, j] = n
    note_shown(tile, frame, top, bottom, left, right, lists, coverage)


@device
def scaled_box(b, multiplier):
    """A plane box in scaled coordinates."""
    return (b[0] * multiplier, b[1] * multiplier, b[2] * multiplier, b[3] * multiplier)


@device
def note_shown(tile, frame, top, bottom, left, right, lists, coverage):
    """Whether a tile with triangles has uncovered pixels, and which triangles are shown."""
    open_pixels = False
    for i in range(top, bottom):
        for j in range(left, right):
            n = coverage.face_index[frame, i, j]
            open_pixels = open_pixels or n < 0
            if n >= 0:
                coverage.visible[n] = True
    coverage.open[tile] = open_pixels and lists.start[tile + 1] > lists.start[tile]
