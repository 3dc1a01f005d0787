"""From chunks of pixels and entries of tiles back to triangles and vertices, without atomics.

Every sum has a fixed order, so the result is the same for any number of threads.
"""

from __future__ import annotations

from diffloom_kernels import constant, device
from diffloom_raster.soft_mask_kernels import mask_sums


@device
def gather_triangle(n, wants, box, cells, near_open, touched, chunk, slots, adj_corner):
    """adj_corner[n, corner, 0:3]: what the chunks and the soft mask of triangle n pass to its corners."""
    o = constant(adj_corner[n, 0, 0], 0)
    ax, ay, az, bx, by, bz, cx, cy, cz = o, o, o, o, o, o, o, o, o
    place = slots.place
    for c in range(chunk[n], chunk[n + 1] if wants.features else chunk[n]):
        ax, ay, az = ax + place[c, 0, 0], ay + place[c, 0, 1], az + place[c, 0, 2]
        bx, by, bz = bx + place[c, 1, 0], by + place[c, 1, 1], bz + place[c, 1, 2]
        cx, cy, cz = cx + place[c, 2, 0], cy + place[c, 2, 1], cz + place[c, 2, 2]
    if wants.stripes > 0:
        g = mask_sums(n, wants.stripes, box, cells, near_open, touched, slots.mask)
        ax, ay, bx, by, cx, cy = ax + g[0], ay + g[1], bx + g[2], by + g[3], cx + g[4], cy + g[5]
    adj_corner[n, 0, 0], adj_corner[n, 0, 1], adj_corner[n, 0, 2] = ax, ay, az
    adj_corner[n, 1, 0], adj_corner[n, 1, 1], adj_corner[n, 1, 2] = bx, by, bz
    adj_corner[n, 2, 0], adj_corner[n, 2, 1], adj_corner[n, 2, 2] = cx, cy, cz


@device
def gather_features(r, features, mesh, corners, chunk, slot_point, found):
    """Row r of the cotangents of places and of features by point: sums over the corners around it."""
    adj_place, adj_feature = found.screen, found.by_point
    t, v = r // mesh.points, r % mesh.points
    zero = constant(adj_place[r, 0], 0)
    x, y, z = zero, zero, zero
    for d in range(adj_feature.shape[1]):
        adj_feature[r, d] = zero
    for k in range(corners.start[v], corners.start[v + 1]):
        n, c = t * mesh.faces.shape[0] + corners.corner[k] // 3, corners.corner[k] % 3
        x, y, z = x + found.corners[n, c, 0], y + found.corners[n, c, 1], z + found.corners[n, c, 2]
        for s in range(chunk[n], chunk[n + 1] if features else chunk[n]):
            for d in range(adj_feature.shape[1]):
                adj_feature[r, d] += slot_point[s, c, d]
    adj_place[r, 0], adj_place[r, 1], adj_place[r, 2] = x, y, z


@device
def gather_own(i, active, triangles, width, stride, corners, chunk, slot_own, adj_own):
    """Row i of the cotangent of features with rows of their own: sums over the corners of all frames that take it, or
    of its own frame where frames have ``stride`` rows each. active: 0 where pixels pass nothing."""
    for d in range(i * width, (i + 1) * width):
        adj_own[d] = adj_own.dtype.type(0)
    row, begin, end = i, 0, triangles
    if stride > 0:
        row, begin = i % stride, i // stride * corners.faces.shape[0]
        end = begin + corners.faces.shape[0]
    for k in range(corners.start[row], corners.start[row + 1] if active else corners.start[row]):
        c = corners.corner[k] % 3
        for n in range(begin + corners.corner[k] // 3, end, corners.faces.shape[0]):
            for s in range(chunk[n], chunk[n + 1]):
                for d in range(width):
                    adj_own[i * width + d] += slot_own[(3 * s + c) * width + d]
