"""Loading and storing small tuples. ``i`` is an int, a run of elements or, for loads, node indices.

*Slots* are arrays (elements, corners, 4): each element writes its contribution to each of its corners into a row of
four, the last entry zero, so that a node may later gather a row in one vector load.
"""

from __future__ import annotations

from numba.core import types
from numba.extending import overload

from .language import DEVICE_OPTIONS, device


def ld3(a, i):
    """a[i, 0:3] as a vec3. Node indices under lanes load fastest from arrays with rows of four, (nodes, 4)."""
    return (a[i, 0], a[i, 1], a[i, 2])


def st13(slots, e, f):
    """Write vec3 f to the only slot of element e."""
    zero = slots.dtype.type(0)
    slots[e, 0, 0] = f[0]
    slots[e, 0, 1] = f[1]
    slots[e, 0, 2] = f[2]
    slots[e, 0, 3] = zero


def st23(slots, e, f0, f1):
    """Write vec3 f0, f1 to the two slots of element e."""
    zero = slots.dtype.type(0)
    slots[e, 0, 0] = f0[0]
    slots[e, 0, 1] = f0[1]
    slots[e, 0, 2] = f0[2]
    slots[e, 0, 3] = zero
    slots[e, 1, 0] = f1[0]
    slots[e, 1, 1] = f1[1]
    slots[e, 1, 2] = f1[2]
    slots[e, 1, 3] = zero


def st33(slots, e, f0, f1, f2):
    """Write vec3 f0, f1, f2 to the three slots of element e."""
    zero = slots.dtype.type(0)
    slots[e, 0, 0] = f0[0]
    slots[e, 0, 1] = f0[1]
    slots[e, 0, 2] = f0[2]
    slots[e, 0, 3] = zero
    slots[e, 1, 0] = f1[0]
    slots[e, 1, 1] = f1[1]
    slots[e, 1, 2] = f1[2]
    slots[e, 1, 3] = zero
    slots[e, 2, 0] = f2[0]
    slots[e, 2, 1] = f2[1]
    slots[e, 2, 2] = f2[2]
    slots[e, 2, 3] = zero


def st43(slots, e, f0, f1, f2, f3):
    """Write vec3 f0, f1, f2, f3 to the four slots of element e."""
    zero = slots.dtype.type(0)
    slots[e, 0, 0] = f0[0]
    slots[e, 0, 1] = f0[1]
    slots[e, 0, 2] = f0[2]
    slots[e, 0, 3] = zero
    slots[e, 1, 0] = f1[0]
    slots[e, 1, 1] = f1[1]
    slots[e, 1, 2] = f1[2]
    slots[e, 1, 3] = zero
    slots[e, 2, 0] = f2[0]
    slots[e, 2, 1] = f2[1]
    slots[e, 2, 2] = f2[2]
    slots[e, 2, 3] = zero
    slots[e, 3, 0] = f3[0]
    slots[e, 3, 1] = f3[1]
    slots[e, 3, 2] = f3[2]
    slots[e, 3, 3] = zero


def strow3(a, i, v):
    """a[i, 0:3] = v and a[i, 3] = 0, for arrays with rows of four."""
    a[i, 0] = v[0]
    a[i, 1] = v[1]
    a[i, 2] = v[2]
    a[i, 3] = a.dtype.type(0)


@overload(ld3, jit_options=DEVICE_OPTIONS)
def _ld3(a, i):
    return ld3 if isinstance(i, types.Integer) else None


@overload(strow3, jit_options=DEVICE_OPTIONS)
def _strow3(a, i, v):
    return strow3 if isinstance(i, types.Integer) else None


@overload(st13, jit_options=DEVICE_OPTIONS)
def _st13(slots, e, f):
    return st13 if isinstance(e, types.Integer) else None


@overload(st23, jit_options=DEVICE_OPTIONS)
def _st23(slots, e, f0, f1):
    return st23 if isinstance(e, types.Integer) else None


@overload(st33, jit_options=DEVICE_OPTIONS)
def _st33(slots, e, f0, f1, f2):
    return st33 if isinstance(e, types.Integer) else None


@overload(st43, jit_options=DEVICE_OPTIONS)
def _st43(slots, e, f0, f1, f2, f3):
    return st43 if isinstance(e, types.Integer) else None


@device
def ld2(a, i):
    """a[i, 0:2] as a pair."""
    return (a[i, 0], a[i, 1])


@device
def ld4(a, i):
    """a[i, 0:4], such as a quaternion."""
    return (a[i, 0], a[i, 1], a[i, 2], a[i, 3])


@device
def ld6(a, i):
    """a[i, 0:6] as two vec3, such as velocity and angular velocity."""
    return (a[i, 0], a[i, 1], a[i, 2]), (a[i, 3], a[i, 4], a[i, 5])


@device
def ld7(a, i):
    """a[i, 0:7] as a vec3 and a quaternion, such as position and orientation."""
    return (a[i, 0], a[i, 1], a[i, 2]), (a[i, 3], a[i, 4], a[i, 5], a[i, 6])


@device
def ld22(a, i):
    """a[i, 0:4] or the rows of a 2x2 matrix stored flat."""
    return (a[i, 0], a[i, 1], a[i, 2], a[i, 3])


@device
def ld33(a, i):
    """a[i, 0:9], a 3x3 matrix stored flat."""
    return (a[i, 0], a[i, 1], a[i, 2], a[i, 3], a[i, 4], a[i, 5], a[i, 6], a[i, 7], a[i, 8])


@device
def st2(a, i, v):
    """a[i, 0:2] = v."""
    a[i, 0] = v[0]
    a[i, 1] = v[1]


@device
def st3(a, i, v):
    """a[i, 0:3] = v."""
    a[i, 0] = v[0]
    a[i, 1] = v[1]
    a[i, 2] = v[2]


@device
def st4(a, i, q):
    """a[i, 0:4] = q."""
    a[i, 0] = q[0]
    a[i, 1] = q[1]
    a[i, 2] = q[2]
    a[i, 3] = q[3]


@device
def st6(a, i, v, w):
    """a[i, 0:6] = vec3 v, vec3 w."""
    a[i, 0] = v[0]
    a[i, 1] = v[1]
    a[i, 2] = v[2]
    a[i, 3] = w[0]
    a[i, 4] = w[1]
    a[i, 5] = w[2]


@device
def st7(a, i, x, q):
    """a[i, 0:7] = vec3 x, quaternion q."""
    a[i, 0] = x[0]
    a[i, 1] = x[1]
    a[i, 2] = x[2]
    a[i, 3] = q[0]
    a[i, 4] = q[1]
    a[i, 5] = q[2]
    a[i, 6] = q[3]


@device
def st33m(a, i, A):
    """a[i, 0:9] = A, a 3x3 matrix stored flat."""
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
    """a[i, 0:3] += v; element i must own row i."""
    a[i, 0] += v[0]
    a[i, 1] += v[1]
    a[i, 2] += v[2]
