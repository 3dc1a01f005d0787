"""From chunks of pixels and entries of tiles back to triangles and vertices, without atomics.

Every sum has a fixed order, so the result is the same for any number of threads.
"""

from __future__ import annotations

from diffloom.kernels import constant, device
from diffloom.shading.kernels.tiles import cells_of, note_entry


@device
def note_touching(
    entry, parts, open_tile, touched, entry_triangle, entry_tile, box, grid, first_cell, cell_entry, near_open
):
    """Tell a triangle's cell of this entry (note_entry), and the triangle (near_open), if it counts in a soft mask.

    touched: see mask.py; empty by Kaolin's rules, then every entry of an open tile counts.
    """
    if not open_tile[entry_tile[entry]]:
        return
    counts = touched.shape[0] == 0
    for i in range(entry * parts, (entry + 1) * parts):
        counts = counts or touched[i] != 0
    if counts:
        note_entry(entry, entry_triangle, entry_tile, box, grid, first_cell, cell_entry)
        near_open[entry_triangle[entry]] = True


@device
def gather_triangle(
    n, features, parts, box, first_cell, cell_entry, near_open, touched, chunk, slot_mask, slot_place, adj_corner
):
    """adj_corner[n, corner, 0:3]: what the chunks and the soft mask of triangle n pass to its corners.

    features: 0 if the chunks pass nothing. parts: stripes that an entry's tile is cut into, 0 without a mask.
    """
    o = constant(adj_corner[n, 0, 0], 0)
    ax, ay, az, bx, by, bz, cx, cy, cz = o, o, o, o, o, o, o, o, o
    for c in range(chunk[n], chunk[n + 1] if features else chunk[n]):
        ax, ay, az = ax + slot_place[c, 0, 0], ay + slot_place[c, 0, 1], az + slot_place[c, 0, 2]
        bx, by, bz = bx + slot_place[c, 1, 0], by + slot_place[c, 1, 1], bz + slot_place[c, 1, 2]
        cx, cy, cz = cx + slot_place[c, 2, 0], cy + slot_place[c, 2, 1], cz + slot_place[c, 2, 2]
    if parts > 0 and near_open[n]:
        for cell in range(first_cell[n], first_cell[n] + cells_of(n, box)):
            entry = cell_entry[cell] - 1
            for i in range(entry * parts, (entry + 1) * parts if entry >= 0 else entry * parts):
                if touched.shape[0] == 0 or touched[i] != 0:
                    ax, ay, bx = ax + slot_mask[i, 0], ay + slot_mask[i, 1], bx + slot_mask[i, 2]
                    by, cx, cy = by + slot_mask[i, 3], cx + slot_mask[i, 4], cy + slot_mask[i, 5]
    adj_corner[n, 0, 0], adj_corner[n, 0, 1], adj_corner[n, 0, 2] = ax, ay, az
    adj_corner[n, 1, 0], adj_corner[n, 1, 1], adj_corner[n, 1, 2] = bx, by, bz
    adj_corner[n, 2, 0], adj_corner[n, 2, 1], adj_corner[n, 2, 2] = cx, cy, cz


@device
def gather_point(r, features, mesh, around_start, around, chunk, adj_corner, slot_point, adj_place, adj_feature):
    """Row r of the cotangents of places and of features by point: sums over the corners around it.

    around[around_start[v]:around_start[v + 1]]: corners at point v of a frame, 3 face + corner.
    """
    count, faces = mesh
    t, v = r // count, r % count
    zero = constant(adj_place[r, 0], 0)
    x, y, z = zero, zero, zero
    for d in range(adj_feature.shape[1]):
        adj_feature[r, d] = zero
    for k in range(around_start[v], around_start[v + 1]):
        n, c = t * faces.shape[0] + around[k] // 3, around[k] % 3
        x, y, z = x + adj_corner[n, c, 0], y + adj_corner[n, c, 1], z + adj_corner[n, c, 2]
        for s in range(chunk[n], chunk[n + 1] if features else chunk[n]):
            for d in range(adj_feature.shape[1]):
                adj_feature[r, d] += slot_point[s, c, d]
    adj_place[r, 0], adj_place[r, 1], adj_place[r, 2] = x, y, z


@device
def gather_own(i, features, triangles, faces, around_start, around, chunk, slot_own, adj_own):
    """Row i of the cotangent of features with rows of their own: sums over the corners of all frames that take it."""
    for d in range(adj_own.shape[1]):
        adj_own[i, d] = adj_own.dtype.type(0)
    for k in range(around_start[i], around_start[i + 1] if features else around_start[i]):
        c = around[k] % 3
        for n in range(around[k] // 3, triangles, faces):
            for s in range(chunk[n], chunk[n + 1]):
                for d in range(adj_own.shape[1]):
                    adj_own[i, d] += slot_own[s, c, d]
