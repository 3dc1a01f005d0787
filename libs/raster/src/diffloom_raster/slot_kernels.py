"""Sums of cotangents from the entries of tiles over triangles, and from corners over rows of values.

Slots hold nine numbers for each part of an entry's triangle: three for each of its corners. Sums have a fixed order.
"""

from __future__ import annotations

from diffloom_kernels import device

from .binning_kernels import count_cells


@device
def gather_triangle(t, part, stripes, box, cells, slots, adj_corners):
    """Sum all entries of triangle t into adj_corners[t, corner]."""
    R = slots.dtype.type
    o = R(0.0)
    ax, ay, az, bx, by, bz, cx, cy, cz = o, o, o, o, o, o, o, o, o
    for cell in range(cells.first[t], cells.first[t] + count_cells(t, box)):
        entry = cells.entry[cell] - 1
        if entry >= 0:
            for i in range(entry * stripes, (entry + 1) * stripes):
                ax, ay, az = ax + slots[i, part, 0], ay + slots[i, part, 1], az + slots[i, part, 2]
                bx, by, bz = bx + slots[i, part, 3], by + slots[i, part, 4], bz + slots[i, part, 5]
                cx, cy, cz = cx + slots[i, part, 6], cy + slots[i, part, 7], cz + slots[i, part, 8]
    adj_corners[t, 0, 0], adj_corners[t, 0, 1], adj_corners[t, 0, 2] = ax, ay, az
    adj_corners[t, 1, 0], adj_corners[t, 1, 1], adj_corners[t, 1, 2] = bx, by, bz
    adj_corners[t, 2, 0], adj_corners[t, 2, 1], adj_corners[t, 2, 2] = cx, cy, cz


@device
def gather_value(i, repeats, stride, corners, adj_corners, adj_values):
    """Sum the corners of all frames that use row i into adj_values[i], or those of its frame alone where frames have
    ``stride`` rows each.
    """
    R = adj_corners.dtype.type
    x, y, z = R(0.0), R(0.0), R(0.0)
    row, begin, end = i, 0, repeats
    if stride > 0:
        row, begin, end = i % stride, i // stride, i // stride + 1
    for k in range(corners.start[row], corners.start[row + 1]):
        for frame in range(begin, end):
            t, c = frame * corners.faces.shape[0] + corners.corner[k] // 3, corners.corner[k] % 3
            x, y, z = x + adj_corners[t, c, 0], y + adj_corners[t, c, 1], z + adj_corners[t, c, 2]
    adj_values[i, 0], adj_values[i, 1], adj_values[i, 2] = x, y, z
