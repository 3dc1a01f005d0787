"""Semi-Lagrangian advection on a staggered grid (Stam 1999), and its adjoint.

Component 0 of a velocity is stored at the left face of a cell and points along x, component 1 at the lower face and
along y; component 2 stands for cell centres. Every component is advected on its own lattice: its value after a step is
the bilinear sample at (i - s v, j - s u), with (u, v) the velocity at that point and s = dt / spacing. The last face of
a row is its first one: in a periodic domain by wrapping, between walls because nothing passes either.
"""

from __future__ import annotations

from diffloom_kernels import device, floor


@device
def next_index(k, n):
    """Return the next of n indices, the first after the last."""
    return k + 1 if k + 1 < n else 0


@device
def previous_index(k, n):
    """Return the previous of n indices, the last before the first."""
    return k - 1 if k > 0 else n - 1


@device
def is_open(component, i, j, walls):
    """Return True if a face is inside the domain, not a part of its wall."""
    if walls == 0:
        return True
    if component == 0:
        return j > 0
    return i > 0


@device
def bracket(g, n, on_face, walls, like):
    """Return lower and upper index around the coordinate g, the fraction of the way between, and d (place) / d g.

    Walls hold centres within 0 .. n - 1 and faces within 0 .. n.
    """
    R = like.dtype.type
    free = R(1.0)
    if walls == 1:
        most = R(n) if on_face else R(n - 1)
        if not g > R(0.0):
            g, free = R(0.0), R(0.0)
        elif g >= most:
            g, free = most, R(0.0)
    below = floor(g)
    low = int(below)
    if low < 0 or low >= n:
        low %= n  # division is slow, and seldom needed
    return low, next_index(low, n), g - below, free


@device
def velocity_at(component, i, j, grid, w):
    """Return the velocity (along x, along y) at a face or, for component 2, at the centre of cell (i, j)."""
    R = w.dtype.type
    right, above = next_index(j, grid.columns), next_index(i, grid.rows)
    left, below = previous_index(j, grid.columns), previous_index(i, grid.rows)
    if component == 0:
        v = (w[i, left, 1] + w[i, j, 1]) + (w[above, left, 1] + w[above, j, 1])
        return w[i, j, 0], R(0.25) * v
    if component == 1:
        u = (w[below, j, 0] + w[below, right, 0]) + (w[i, j, 0] + w[i, right, 0])
        return R(0.25) * u, w[i, j, 1]
    return R(0.5) * (w[i, j, 0] + w[i, right, 0]), R(0.5) * (w[i, j, 1] + w[above, j, 1])


@device
def sample(component, k, y, x, grid, field):
    """Return entry k of a field at lattice coordinates (y, x), and its derivatives by y and x."""
    i0, i1, fy, free_y = bracket(y, grid.rows, component == 1, grid.walls, field)
    j0, j1, fx, free_x = bracket(x, grid.columns, component == 0, grid.walls, field)
    lower = field[i0, j0, k] + fx * (field[i0, j1, k] - field[i0, j0, k])
    upper = field[i1, j0, k] + fx * (field[i1, j1, k] - field[i1, j0, k])
    step0, step1 = field[i0, j1, k] - field[i0, j0, k], field[i1, j1, k] - field[i1, j0, k]
    return lower + fy * (upper - lower), free_y * (upper - lower), free_x * (step0 + fy * (step1 - step0))


@device
def carry_velocity(e, s, grid, w, out):
    """Store component k of the velocity in out[i, j, k], advected by the velocity.

    e counts rows of the first component, then those of the second.
    """
    R = w.dtype.type
    k = e // grid.rows
    i = e - k * grid.rows
    for j in range(grid.columns):
        out[i, j, k] = R(0.0)
        if is_open(k, i, j, grid.walls):
            u, v = velocity_at(k, i, j, grid, w)
            out[i, j, k] = sample(k, k, R(i) - s * v, R(j) - s * u, grid, w)[0]


@device
def carry_density(i, s, keep, grid, w, density, out):
    """Store the density in out[i, j], advected by the velocity; the fraction ``keep`` of it remains."""
    R = w.dtype.type
    for j in range(grid.columns):
        u, v = velocity_at(2, i, j, grid, w)
        out[i, j, 0] = keep * sample(2, 0, R(i) - s * v, R(j) - s * u, grid, density)[0]


@device
def scatter(component, k, i, j, y, x, grid, adj, adj_field):
    """Add the weights of the sample at (y, x) times adj to adj_field."""
    R = adj_field.dtype.type
    i0, i1, fy, _free_y = bracket(y, grid.rows, component == 1, grid.walls, adj_field)
    j0, j1, fx, _free_x = bracket(x, grid.columns, component == 0, grid.walls, adj_field)
    adj_field[i0, j0, k] += (R(1.0) - fy) * (R(1.0) - fx) * adj
    adj_field[i0, j1, k] += (R(1.0) - fy) * fx * adj
    adj_field[i1, j0, k] += fy * (R(1.0) - fx) * adj
    adj_field[i1, j1, k] += fy * fx * adj


@device
def carry_velocity_adjoint(k, s, grid, w, adj_out, adj_w, ways):
    """Transpose of carry_velocity, for all cells in turn, because the origin of a sample is known at run time only.

    adj_w += the transposed weights; ways: cotangents of the velocity at the face.
    """
    R = w.dtype.type
    for i in range(grid.rows):
        for j in range(grid.columns):
            ways[i, j, k, 0], ways[i, j, k, 1] = R(0.0), R(0.0)
            if is_open(k, i, j, grid.walls):
                u, v = velocity_at(k, i, j, grid, w)
                y, x, adj = R(i) - s * v, R(j) - s * u, adj_out[i, j, k]
                _value, by_y, by_x = sample(k, k, y, x, grid, w)
                scatter(k, k, i, j, y, x, grid, adj, adj_w)
                ways[i, j, k, 0], ways[i, j, k, 1] = -s * by_x * adj, -s * by_y * adj


@device
def carry_density_adjoint(_k, s, keep, grid, w, density, adj_out, adj_density, adj_keep, ways):
    """Transpose of carry_density, for all cells in turn. adj_keep: (rows, columns), the cotangent of ``keep`` by
    cell.
    """
    R = w.dtype.type
    for i in range(grid.rows):
        for j in range(grid.columns):
            u, v = velocity_at(2, i, j, grid, w)
            y, x, adj = R(i) - s * v, R(j) - s * u, keep * adj_out[i, j, 0]
            value, by_y, by_x = sample(2, 0, y, x, grid, density)
            scatter(2, 0, i, j, y, x, grid, adj, adj_density)
            adj_keep[i, j] = value * adj_out[i, j, 0]
            ways[i, j, 2, 0], ways[i, j, 2, 1] = -s * by_x * adj, -s * by_y * adj


@device
def gather_faces(i, grid, ways, adj_w):
    """Add the cotangents of velocities at faces to adj_w, by the transposed averages of ``velocity_at``; none at
    walls.
    """
    R = adj_w.dtype.type
    above = next_index(i, grid.rows)
    below = previous_index(i, grid.rows)
    for j in range(grid.columns):
        right = next_index(j, grid.columns)
        left = previous_index(j, grid.columns)
        u = (ways[i, j, 1, 0] + ways[i, left, 1, 0]) + (ways[above, j, 1, 0] + ways[above, left, 1, 0])
        v = (ways[i, j, 0, 1] + ways[i, right, 0, 1]) + (ways[below, j, 0, 1] + ways[below, right, 0, 1])
        x, y = adj_w[i, j, 0] + (ways[i, j, 0, 0] + R(0.25) * u), adj_w[i, j, 1] + (ways[i, j, 1, 1] + R(0.25) * v)
        adj_w[i, j, 0] = x if is_open(0, i, j, grid.walls) else R(0.0)
        adj_w[i, j, 1] = y if is_open(1, i, j, grid.walls) else R(0.0)


@device
def gather_centres(i, grid, ways, adj_w_out, adj_w):
    """Store adj_w_out plus the cotangents of velocities at centres in adj_w; none at walls."""
    R = adj_w.dtype.type
    below = previous_index(i, grid.rows)
    for j in range(grid.columns):
        left = previous_index(j, grid.columns)
        x = adj_w_out[i, j, 0] + R(0.5) * (ways[i, j, 2, 0] + ways[i, left, 2, 0])
        y = adj_w_out[i, j, 1] + R(0.5) * (ways[i, j, 2, 1] + ways[below, j, 2, 1])
        adj_w[i, j, 0] = x if is_open(0, i, j, grid.walls) else R(0.0)
        adj_w[i, j, 1] = y if is_open(1, i, j, grid.walls) else R(0.0)
