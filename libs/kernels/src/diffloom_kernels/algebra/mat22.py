"""2-vectors, 2x2 matrices (flat tuples of four, row by row) and 3x2 matrices (flat tuples of six, row by row)."""

from __future__ import annotations

from ..functions import fma
from ..language import device


@device
def add2(a, b):
    """a + b."""
    return (a[0] + b[0], a[1] + b[1])


@device
def sub2(a, b):
    """a - b."""
    return (a[0] - b[0], a[1] - b[1])


@device
def mul2(a, s):
    """a s, with s a scalar."""
    return (a[0] * s, a[1] * s)


@device
def dot2(a, b):
    """a . b."""
    return fma(a[1], b[1], a[0] * b[0])


@device
def cross2(a, b):
    """a[0] b[1] - a[1] b[0], the signed area of the parallelogram."""
    return a[0] * b[1] - a[1] * b[0]


@device
def add22(A, B):
    """A + B."""
    return (A[0] + B[0], A[1] + B[1], A[2] + B[2], A[3] + B[3])


@device
def sub22(A, B):
    """A - B."""
    return (A[0] - B[0], A[1] - B[1], A[2] - B[2], A[3] - B[3])


@device
def mul22(A, s):
    """s A, with s a scalar."""
    return (A[0] * s, A[1] * s, A[2] * s, A[3] * s)


@device
def dot22(A, B):
    """A : B."""
    return fma(A[1], B[1], A[0] * B[0]) + fma(A[3], B[3], A[2] * B[2])


@device
def trace22(A):
    """tr A."""
    return A[0] + A[3]


@device
def transpose22(A):
    """A^T."""
    return (A[0], A[2], A[1], A[3])


@device
def matvec22(A, b):
    """Product A b."""
    return (fma(A[1], b[1], A[0] * b[0]), fma(A[3], b[1], A[2] * b[0]))


@device
def matmul22(A, B):
    """Product A B."""
    return (
        fma(A[1], B[2], A[0] * B[0]),
        fma(A[1], B[3], A[0] * B[1]),
        fma(A[3], B[2], A[2] * B[0]),
        fma(A[3], B[3], A[2] * B[1]),
    )


@device
def det22(A):
    """det A."""
    return A[0] * A[3] - A[1] * A[2]


@device
def cof22(A):
    """Cofactor matrix: d det(A) / dA."""
    return (A[3], -A[2], -A[1], A[0])


@device
def inverse22(A):
    """A^-1; entries are infinite or nan where A is singular."""
    d = A[0] * A[3] - A[1] * A[2]
    return (A[3] / d, -A[1] / d, -A[2] / d, A[0] / d)


@device
def mat32_columns(a, b):
    """Matrix (3x2) with the columns a and b, each a vec3."""
    return (a[0], b[0], a[1], b[1], a[2], b[2])


@device
def column32(A, c):
    """Column c of a 3x2 matrix; c is a compile-time constant."""
    if c == 0:
        return (A[0], A[2], A[4])
    return (A[1], A[3], A[5])


@device
def add32(A, B):
    """A + B, 3x2."""
    return (A[0] + B[0], A[1] + B[1], A[2] + B[2], A[3] + B[3], A[4] + B[4], A[5] + B[5])


@device
def sub32(A, B):
    """A - B, 3x2."""
    return (A[0] - B[0], A[1] - B[1], A[2] - B[2], A[3] - B[3], A[4] - B[4], A[5] - B[5])


@device
def mul32(A, s):
    """s A, with A 3x2 and s a scalar."""
    return (A[0] * s, A[1] * s, A[2] * s, A[3] * s, A[4] * s, A[5] * s)


@device
def dot32(A, B):
    """A : B, 3x2."""
    return fma(A[2], B[2], fma(A[1], B[1], A[0] * B[0])) + fma(A[5], B[5], fma(A[4], B[4], A[3] * B[3]))


@device
def matmul32_22(A, B):
    """Product A B, with A 3x2 and B 2x2: a 3x2 matrix."""
    return (
        fma(A[1], B[2], A[0] * B[0]),
        fma(A[1], B[3], A[0] * B[1]),
        fma(A[3], B[2], A[2] * B[0]),
        fma(A[3], B[3], A[2] * B[1]),
        fma(A[5], B[2], A[4] * B[0]),
        fma(A[5], B[3], A[4] * B[1]),
    )


@device
def Tmatmul32(A, B):
    """Product A^T B with both 3x2: a 2x2 matrix."""
    return (
        fma(A[4], B[4], fma(A[2], B[2], A[0] * B[0])),
        fma(A[4], B[5], fma(A[2], B[3], A[0] * B[1])),
        fma(A[5], B[4], fma(A[3], B[2], A[1] * B[0])),
        fma(A[5], B[5], fma(A[3], B[3], A[1] * B[1])),
    )


@device
def matvec32(A, b):
    """Product A b, with A 3x2 and b a pair: a vec3."""
    return (fma(A[1], b[1], A[0] * b[0]), fma(A[3], b[1], A[2] * b[0]), fma(A[5], b[1], A[4] * b[0]))


@device
def tmatvec32(A, b):
    """Product A^T b with A 3x2 and b a vec3: a pair."""
    return (fma(A[4], b[2], fma(A[2], b[1], A[0] * b[0])), fma(A[5], b[2], fma(A[3], b[1], A[1] * b[0])))
