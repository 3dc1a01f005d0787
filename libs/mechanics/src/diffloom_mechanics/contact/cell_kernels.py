"""Points and triangles sorted into the cells of a grid in each step, by one thread and therefore in one order.

A cell is as wide as the diameter of the largest ball around a triangle, the thickness of contact included; everything
that may touch a ball's centre then lies in at most two cells along each axis. Cells are kept in buckets by a hash of
their coordinates; entries remember their cell, so two cells that share a bucket are never confused.

Workspace, for n vertices and m triangles: balls (m + 1, 3), centres of the triangles and, in the last row, the reach of
a contact, that is the largest radius plus the thickness; cells (n + m, 3), starts (2, buckets + 2) and order (n + m),
vertices before triangles in each.
"""

from diffloom_kernels import add3, constant, device, dot3, floor, ld3, maximum, mul3, sqrt, st3, sub3


@device
def bucket(cell, buckets):
    """Return the bucket of a cell; ``buckets`` is a power of two."""
    return ((cell[0] * 73856093) ^ (cell[1] * 19349663) ^ (cell[2] * 83492791)) & (buckets - 1)


@device
def cell_of(value, inverse):
    """Return the number of the cell along one axis; ``inverse``: 1 / width of a cell."""
    return int(floor(value * inverse))


@device
def in_cell(cells, j, cell):
    """Return True if entry j lies in this cell."""
    return cells[j, 0] == cell[0] and cells[j, 1] == cell[1] and cells[j, 2] == cell[2]


@device
def cells_around(p, reach):
    """Return the cells that hold everything closer to p than ``reach``: the lowest, and their number along each
    axis.
    """
    inverse = constant(reach, 0.5) / reach
    x = cell_of(p[0] - reach, inverse)
    y = cell_of(p[1] - reach, inverse)
    z = cell_of(p[2] - reach, inverse)
    nx = maximum(cell_of(p[0] + reach, inverse) + 1 - x, 0)
    ny = maximum(cell_of(p[1] + reach, inverse) + 1 - y, 0)
    nz = maximum(cell_of(p[2] + reach, inverse) + 1 - z, 0)
    return (x, y, z), (nx, ny, nz)


@device
def count_cells(around):
    """Return the number of these cells."""
    return around[1][0] * around[1][1] * around[1][2]


@device
def next_cell(around, cell):
    """Return the cell after ``cell``, row by row; the first is the lowest."""
    lowest, counts = around
    x, y, z = cell
    z += 1
    if z == lowest[2] + counts[2]:
        z = lowest[2]
        y += 1
        if y == lowest[1] + counts[1]:
            y = lowest[1]
            x += 1
    return (x, y, z)


@device
def store_face_centres(x, faces, balls):
    """Store the centres of all triangles; return the largest distance of a corner from its centre."""
    R = x.dtype.type
    largest = R(0)
    for f in range(faces.shape[0]):
        a = ld3(x, faces[f, 0])
        b = ld3(x, faces[f, 1])
        c = ld3(x, faces[f, 2])
        m = mul3(add3(a, add3(b, c)), R(1.0 / 3.0))
        st3(balls, f, m)
        a = sub3(a, m)
        b = sub3(b, m)
        c = sub3(c, m)
        largest = maximum(largest, maximum(dot3(a, a), maximum(dot3(b, b), dot3(c, c))))
    return sqrt(largest)


@device
def sort_into_cells(points, count, inverse, cells, starts, order, kind, first):
    """Sort by bucket, counting: bucket b holds order[first + starts[kind, b]] up to that of b + 1, by number."""
    buckets = starts.shape[1] - 2
    for b in range(buckets + 2):
        starts[kind, b] = 0
    for i in range(count):
        cx = cell_of(points[i, 0], inverse)
        cy = cell_of(points[i, 1], inverse)
        cz = cell_of(points[i, 2], inverse)
        cells[first + i, 0] = cx
        cells[first + i, 1] = cy
        cells[first + i, 2] = cz
        starts[kind, bucket((cx, cy, cz), buckets) + 2] += 1
    for b in range(buckets):
        starts[kind, b + 2] += starts[kind, b + 1]
    # starts[b + 1] now counts the entries before bucket b; filling moves it to the end of the bucket.
    for i in range(count):
        b = bucket((int(cells[first + i, 0]), int(cells[first + i, 1]), int(cells[first + i, 2])), buckets)
        order[first + starts[kind, b + 1]] = i
        starts[kind, b + 1] += 1
