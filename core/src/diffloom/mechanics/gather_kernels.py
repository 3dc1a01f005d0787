"""Sums of slot rows per node, in the order of the gather, and what is done with such sums.

For each width n of a force or a state: gather_n sums rows, plus_n adds a tuple, values_n gives the sum as a tuple, and
increase_n adds it to a node's row. Sums of three numbers are kept in one register.
"""

# mypy: ignore-errors

from diffloom.kernels import device, row_at, row_of, row_plus, row_store, row_sum, row_vec3


@device
def gather_3(i, starts, slots, rows):
    """Sum of the first three columns of node i's rows."""
    return row_sum(rows, slots, starts[i], starts[i + 1])


@device
def plus_3(total, v):
    """A sum and a vec3."""
    return row_plus(total, row_of(v))


@device
def values_3(total):
    """The sum as a vec3."""
    return row_vec3(total)


@device
def increase_3(a, i, total):
    """a[i] += total."""
    row_store(a, i, row_plus(row_at(a, i), total))


@device
def gather_6(i, starts, slots, rows):
    """Sum of the first six columns of node i's rows."""
    zero = rows.dtype.type(0)
    total = (zero, zero, zero, zero, zero, zero)
    for s in range(starts[i], starts[i + 1]):
        r = slots[s]
        total = plus_6(total, (rows[r, 0], rows[r, 1], rows[r, 2], rows[r, 3], rows[r, 4], rows[r, 5]))
    return total


@device
def plus_6(a, b):
    """A sum and six numbers."""
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3], a[4] + b[4], a[5] + b[5])


@device
def values_6(total):
    """The sum as six numbers."""
    return total


@device
def increase_6(a, i, total):
    """a[i] += total."""
    a[i, 0] += total[0]
    a[i, 1] += total[1]
    a[i, 2] += total[2]
    a[i, 3] += total[3]
    a[i, 4] += total[4]
    a[i, 5] += total[5]


@device
def gather_7(i, starts, slots, rows):
    """Sum of the first seven columns of node i's rows."""
    zero = rows.dtype.type(0)
    total = (zero, zero, zero, zero, zero, zero, zero)
    for s in range(starts[i], starts[i + 1]):
        r = slots[s]
        total = plus_7(total, (rows[r, 0], rows[r, 1], rows[r, 2], rows[r, 3], rows[r, 4], rows[r, 5], rows[r, 6]))
    return total


@device
def plus_7(a, b):
    """A sum and seven numbers."""
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3], a[4] + b[4], a[5] + b[5], a[6] + b[6])


@device
def values_7(total):
    """The sum as seven numbers."""
    return total


@device
def increase_7(a, i, total):
    """a[i] += total."""
    a[i, 0] += total[0]
    a[i, 1] += total[1]
    a[i, 2] += total[2]
    a[i, 3] += total[3]
    a[i, 4] += total[4]
    a[i, 5] += total[5]
    a[i, 6] += total[6]
