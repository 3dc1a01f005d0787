"""3x3 matrices as flat tuples of nine scalars, row by row."""

from __future__ import annotations

from ..functions import fma, reciprocal
from ..language import device


@device
def mat33_columns(a, b, c):
    """Matrix with the columns a, b, c."""
    return (a[0], b[0], c[0], a[1], b[1], c[1], a[2], b[2], c[2])


@device
def mat33_rows(a, b, c):
    """Matrix with the rows a, b, c."""
    return (a[0], a[1], a[2], b[0], b[1], b[2], c[0], c[1], c[2])


@device
def mat33_diagonal(a, b, c):
    """Diagonal matrix with the entries a, b, c."""
    z = a - a
    return (a, z, z, z, b, z, z, z, c)


@device
def row33(A, r):
    """Row r; r is a compile-time constant."""
    if r == 0:
        return (A[0], A[1], A[2])
    if r == 1:
        return (A[3], A[4], A[5])
    return (A[6], A[7], A[8])


@device
def column33(A, c):
    """Column c; c is a compile-time constant."""
    if c == 0:
        return (A[0], A[3], A[6])
    if c == 1:
        return (A[1], A[4], A[7])
    return (A[2], A[5], A[8])


@device
def add33(A, B):
    """A + B."""
    return (
        A[0] + B[0], A[1] + B[1], A[2] + B[2],
        A[3] + B[3], A[4] + B[4], A[5] + B[5],
        A[6] + B[6], A[7] + B[7], A[8] + B[8],
    )  # fmt: skip


@device
def sub33(A, B):
    """A - B."""
    return (
        A[0] - B[0], A[1] - B[1], A[2] - B[2],
        A[3] - B[3], A[4] - B[4], A[5] - B[5],
        A[6] - B[6], A[7] - B[7], A[8] - B[8],
    )  # fmt: skip


@device
def mul33(A, s):
    """s A, with s a scalar."""
    return (A[0] * s, A[1] * s, A[2] * s, A[3] * s, A[4] * s, A[5] * s, A[6] * s, A[7] * s, A[8] * s)


@device
def fma33(A, s, B):
    """s A + B, fused, with s a scalar."""
    return (
        fma(A[0], s, B[0]), fma(A[1], s, B[1]), fma(A[2], s, B[2]),
        fma(A[3], s, B[3]), fma(A[4], s, B[4]), fma(A[5], s, B[5]),
        fma(A[6], s, B[6]), fma(A[7], s, B[7]), fma(A[8], s, B[8]),
    )  # fmt: skip


@device
def dot33(A, B):
    """A : B, the sum over entries of their products."""
    # Three sums side by side, not one chain of nine: a processor waits for each link of a chain.
    return (
        fma(A[2], B[2], fma(A[1], B[1], A[0] * B[0]))
        + fma(A[5], B[5], fma(A[4], B[4], A[3] * B[3]))
        + fma(A[8], B[8], fma(A[7], B[7], A[6] * B[6]))
    )  # fmt: skip


@device
def trace33(A):
    """tr A."""
    return A[0] + A[4] + A[8]


@device
def transpose33(A):
    """A^T."""
    return (A[0], A[3], A[6], A[1], A[4], A[7], A[2], A[5], A[8])


@device
def matvec33(A, b):
    """Product A b."""
    return (
        fma(A[2], b[2], fma(A[1], b[1], A[0] * b[0])),
        fma(A[5], b[2], fma(A[4], b[1], A[3] * b[0])),
        fma(A[8], b[2], fma(A[7], b[1], A[6] * b[0])),
    )


@device
def tmatvec33(A, b):
    """Product A^T b."""
    return (
        fma(A[6], b[2], fma(A[3], b[1], A[0] * b[0])),
        fma(A[7], b[2], fma(A[4], b[1], A[1] * b[0])),
        fma(A[8], b[2], fma(A[5], b[1], A[2] * b[0])),
    )


@device
def matmul33(A, B):
    """Product A B."""
    return (
        fma(A[2], B[6], fma(A[1], B[3], A[0] * B[0])),
        fma(A[2], B[7], fma(A[1], B[4], A[0] * B[1])),
        fma(A[2], B[8], fma(A[1], B[5], A[0] * B[2])),
        fma(A[5], B[6], fma(A[4], B[3], A[3] * B[0])),
        fma(A[5], B[7], fma(A[4], B[4], A[3] * B[1])),
        fma(A[5], B[8], fma(A[4], B[5], A[3] * B[2])),
        fma(A[8], B[6], fma(A[7], B[3], A[6] * B[0])),
        fma(A[8], B[7], fma(A[7], B[4], A[6] * B[1])),
        fma(A[8], B[8], fma(A[7], B[5], A[6] * B[2])),
    )


@device
def matmulT33(A, B):
    """Product A B^T."""
    return matmul33(A, transpose33(B))


@device
def Tmatmul33(A, B):
    """Product A^T B."""
    return matmul33(transpose33(A), B)


@device
def cof33(A):
    """Cofactor matrix: d det(A) / dA, equal to det(A) A^-T."""
    return (
        fma(A[4], A[8], -(A[5] * A[7])),
        fma(A[5], A[6], -(A[3] * A[8])),
        fma(A[3], A[7], -(A[4] * A[6])),
        fma(A[2], A[7], -(A[1] * A[8])),
        fma(A[0], A[8], -(A[2] * A[6])),
        fma(A[1], A[6], -(A[0] * A[7])),
        fma(A[1], A[5], -(A[2] * A[4])),
        fma(A[2], A[3], -(A[0] * A[5])),
        fma(A[0], A[4], -(A[1] * A[3])),
    )


@device
def det33(A):
    """det A."""
    C = cof33(A)
    return fma(A[2], C[2], fma(A[1], C[1], A[0] * C[0]))


@device
def inverse33(A):
    """A^-1; entries are infinite or nan where A is singular."""
    C = cof33(A)
    return mul33(transpose33(C), reciprocal(A[0] * C[0] + A[1] * C[1] + A[2] * C[2]))


@device
def skew33(a):
    """Cross-product matrix of a: the matrix of b -> a x b."""
    z = a[0] - a[0]
    return (z, -a[2], a[1], a[2], z, -a[0], -a[1], a[0], z)
