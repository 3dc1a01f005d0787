"""Loads and stores of small tuples. ``i`` is an int, a run of elements, a scene node or, for loads, node indices.

*Slots* are arrays (elements, corners, 4): each element writes its contribution to each corner into a row of four with a
zero last entry, so that a node can later gather a row in one vector load.
"""

from __future__ import annotations

from numba.core import types

from .language import device, overloaded


def ld3(a, i):
    """Return a[i, 0:3] as a vec3.

    Under lanes, node indices load fastest from arrays (nodes, 4).

    Args:
        a: Array (rows, 3 or more).
        i: Number of the row, a run, a scene node or node indices.
    """
    return (a[i, 0], a[i, 1], a[i, 2])


def store_corners(slots, e, vectors):
    """Write a vec3 to each slot of element e.

    Args:
        slots: Array (elements, corners, 4).
        e: Number of the element, or a run of elements.
        vectors: Tuple of one vec3 per corner.
    """
    for corner, f in enumerate(vectors):
        _store_corner(slots, e, corner, f)


def _store_corner(slots, e, corner, f):
    """Write a vec3 and a zero to one slot of element e."""
    slots[e, corner, 0] = f[0]
    slots[e, corner, 1] = f[1]
    slots[e, corner, 2] = f[2]
    slots[e, corner, 3] = slots.dtype.type(0)


def _store_from(slots, e, corner, vectors):
    """Write the slots of element e from ``corner`` on, by recursion over the tuple."""
    _store_corner(slots, e, corner, vectors[0])
    _store_from(slots, e, corner + 1, vectors[1:])


def store_row3(a, i, v):
    """Store a[i, 0:3] = v and a[i, 3] = 0.

    Args:
        a: Array (rows, 4).
        i: Number of the row, or a run.
        v: vec3.
    """
    a[i, 0] = v[0]
    a[i, 1] = v[1]
    a[i, 2] = v[2]
    a[i, 3] = a.dtype.type(0)


@overloaded(ld3)
def _ld3(a, i):
    """Overload ``ld3`` for scalar indices."""
    return ld3 if isinstance(i, types.Integer) else None


@overloaded(store_row3)
def _store_row3(a, i, v):
    """Overload ``store_row3`` for scalar indices."""
    return store_row3 if isinstance(i, types.Integer) else None


@overloaded(store_corners)
def _store_corners(slots, e, vectors):
    """Overload ``store_corners`` for scalar elements."""
    return (lambda slots, e, vectors: _store_from(slots, e, 0, vectors)) if isinstance(e, types.Integer) else None


overloaded(_store_corner)(lambda slots, e, corner, f: _store_corner)


@overloaded(_store_from)
def _one_by_one(slots, e, corner, vectors):
    """Overload the recursion of ``_store_from``, which ends with the empty tuple."""
    # Recursion unrolls the corners; a loop over a tuple might not be unrolled.
    return _store_from if len(vectors) > 0 else lambda slots, e, corner, vectors: None


@device
def ld2(a, i):
    """Return a[i, 0:2] as a pair."""
    return (a[i, 0], a[i, 1])


@device
def ld4(a, i):
    """Return a[i, 0:4], such as a quaternion or a flat 2x2 matrix."""
    return (a[i, 0], a[i, 1], a[i, 2], a[i, 3])


@device
def ld6(a, i):
    """Return a[i, 0:6] as two vec3, such as velocity and angular velocity."""
    return (a[i, 0], a[i, 1], a[i, 2]), (a[i, 3], a[i, 4], a[i, 5])


@device
def ld7(a, i):
    """Return a[i, 0:7] as a vec3 and a quaternion, such as position and orientation."""
    return (a[i, 0], a[i, 1], a[i, 2]), (a[i, 3], a[i, 4], a[i, 5], a[i, 6])


@device
def ld33(a, i):
    """Return a[i, 0:9], a flat 3x3 matrix."""
    return (a[i, 0], a[i, 1], a[i, 2], a[i, 3], a[i, 4], a[i, 5], a[i, 6], a[i, 7], a[i, 8])


@device
def st2(a, i, v):
    """Store a[i, 0:2] = v, a pair."""
    a[i, 0] = v[0]
    a[i, 1] = v[1]


@device
def st3(a, i, v):
    """Store a[i, 0:3] = v, a vec3."""
    a[i, 0] = v[0]
    a[i, 1] = v[1]
    a[i, 2] = v[2]


@device
def st4(a, i, q):
    """Store a[i, 0:4] = q, a quaternion or flat 2x2 matrix."""
    a[i, 0] = q[0]
    a[i, 1] = q[1]
    a[i, 2] = q[2]
    a[i, 3] = q[3]


@device
def st6(a, i, v, w):
    """Store a[i, 0:6] = (v, w), two vec3."""
    a[i, 0] = v[0]
    a[i, 1] = v[1]
    a[i, 2] = v[2]
    a[i, 3] = w[0]
    a[i, 4] = w[1]
    a[i, 5] = w[2]


@device
def st7(a, i, x, q):
    """Store a[i, 0:7] = (x, q), a vec3 and a quaternion."""
    a[i, 0] = x[0]
    a[i, 1] = x[1]
    a[i, 2] = x[2]
    a[i, 3] = q[0]
    a[i, 4] = q[1]
    a[i, 5] = q[2]
    a[i, 6] = q[3]


@device
def st33(a, i, A):
    """Store a[i, 0:9] = A, a flat 3x3 matrix."""
    a[i, 0] = A[0]
    a[i, 1] = A[1]
    a[i, 2] = A[2]
    a[i, 3] = A[3]
    a[i, 4] = A[4]
    a[i, 5] = A[5]
    a[i, 6] = A[6]
    a[i, 7] = A[7]
    a[i, 8] = A[8]


@device
def add_to3(a, i, v):
    """Add a vec3 in place: a[i, 0:3] += v. Element i must own row i."""
    a[i, 0] += v[0]
    a[i, 1] += v[1]
    a[i, 2] += v[2]
