"""Copies of rows of any fixed width between arrays and tuples of numbers."""

import functools

from diffloom_kernels import device


@functools.cache
def row_reader(width):
    """Return a device function read(a, i, c): ``width`` numbers of row i from column c on, as a tuple."""
    if width == 1:

        @device
        def read(a, i, c):
            return (a[i, c],)

        return read
    half = width // 2
    left, right = row_reader(half), row_reader(width - half)

    @device
    def read(a, i, c):
        return left(a, i, c) + right(a, i, c + half)

    return read


@functools.cache
def row_writer(width, first=0):
    """Return a device function write(a, i, c, t): a[i, c + k] = t[k] for k from ``first`` to first + width - 1."""
    if width == 1:

        @device
        def write(a, i, c, t):
            a[i, c + first] = t[first]

        return write
    half = width // 2
    left, right = row_writer(half, first), row_writer(width - half, first + half)

    @device
    def write(a, i, c, t):
        left(a, i, c, t)
        right(a, i, c, t)

    return write


@functools.cache
def picker(width, first):
    """Return a device function that takes ``width`` numbers of a tuple from ``first`` on."""
    if width == 1:

        @device
        def pick(t):
            return (t[first],)

        return pick
    half = width // 2
    left, right = picker(half, first), picker(width - half, first + half)

    @device
    def pick(t):
        return left(t) + right(t)

    return pick
