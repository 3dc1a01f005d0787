"""Symmetric 3x3 matrices inside kernels, as six numbers, and selection between rows of a body."""

from diffloom_kernels import device, where


@device
def ld_sym(a, i):
    """Load row i as a symmetric matrix: xx, yy, zz, xy, xz, yz."""
    return (a[i, 0], a[i, 1], a[i, 2], a[i, 3], a[i, 4], a[i, 5])


@device
def sym_mul(S, v):
    """Return S v for a symmetric S."""
    return (
        S[0] * v[0] + S[3] * v[1] + S[4] * v[2],
        S[3] * v[0] + S[1] * v[1] + S[5] * v[2],
        S[4] * v[0] + S[5] * v[1] + S[2] * v[2],
    )


@device
def sym_scale(S, s):
    """Return S s for a scalar s."""
    return (S[0] * s, S[1] * s, S[2] * s, S[3] * s, S[4] * s, S[5] * s)


@device
def sym_outer(a, b):
    """Return the cotangent of S in S b, for the cotangent a of the product; an off-diagonal entry sums its two
    places.
    """
    return (
        a[0] * b[0], a[1] * b[1], a[2] * b[2],
        a[0] * b[1] + a[1] * b[0], a[0] * b[2] + a[2] * b[0], a[1] * b[2] + a[2] * b[1],
    )


@device
def sym_add(S, T):
    """Return S + T."""
    return (S[0] + T[0], S[1] + T[1], S[2] + T[2], S[3] + T[3], S[4] + T[4], S[5] + T[5])


@device
def add_to_sym(a, i, S):
    """Add S to row i of a."""
    a[i, 0] += S[0]
    a[i, 1] += S[1]
    a[i, 2] += S[2]
    a[i, 3] += S[3]
    a[i, 4] += S[4]
    a[i, 5] += S[5]


@device
def where6(c, a, b):
    """Return a where c holds, else b."""
    return (
        where(c, a[0], b[0]), where(c, a[1], b[1]), where(c, a[2], b[2]),
        where(c, a[3], b[3]), where(c, a[4], b[4]), where(c, a[5], b[5]),
    )


@device
def where7(c, a, b):
    """Return a where c holds, else b."""
    return (
        where(c, a[0], b[0]), where(c, a[1], b[1]), where(c, a[2], b[2]),
        where(c, a[3], b[3]), where(c, a[4], b[4]), where(c, a[5], b[5]), where(c, a[6], b[6]),
    )
