"""Sums of slot rows per node, in the order of the gather."""

# mypy: ignore-errors

from diffloom.kernels import device, row_add, row_vec3, row_zero


@device
def gather3(i, starts, slots, rows):
    """Sum of the first three columns of node i's rows, each row one vector load."""
    total = row_zero(rows)
    for s in range(starts[i], starts[i + 1]):
        total = row_add(total, rows, slots[s])
    return row_vec3(total)


@device
def gather6(i, starts, slots, rows):
    """Sum of the first six columns of node i's rows."""
    a = rows.dtype.type(0)
    b = a
    c = a
    d = a
    e = a
    f = a
    for s in range(starts[i], starts[i + 1]):
        r = slots[s]
        a += rows[r, 0]
        b += rows[r, 1]
        c += rows[r, 2]
        d += rows[r, 3]
        e += rows[r, 4]
        f += rows[r, 5]
    return (a, b, c, d, e, f)


@device
def gather7(i, starts, slots, rows):
    """Sum of the first seven columns of node i's rows."""
    a = rows.dtype.type(0)
    b = a
    c = a
    d = a
    e = a
    f = a
    g = a
    for s in range(starts[i], starts[i + 1]):
        r = slots[s]
        a += rows[r, 0]
        b += rows[r, 1]
        c += rows[r, 2]
        d += rows[r, 3]
        e += rows[r, 4]
        f += rows[r, 5]
        g += rows[r, 6]
    return (a, b, c, d, e, f, g)
