"""Products of a triangle's edges with vectors at its corners, and how they look in the triangle's rest axes.

Edges d1, d2 and a pair a1, a2 make the three numbers x = (d1.a1, d1.a2 + d2.a1, d2.a2). With F = [d1, d2] B and
A = [a1, a2] B for the upper triangular B = [[b0, b1], [0, b2]], the inverse of the rest edges, ``pull`` turns x into
(Fu.Au, Fu.Av + Fv.Au, Fv.Av). So F never appears: a stress S of these three numbers acts on the edges as push(S), and
what is left of a triangle is a handful of scalars.
"""

from diffloom_kernels import device, dot3, fma, fma3, mul3


@device
def products(d1, d2, a1, a2):
    """(d1.a1, d1.a2 + d2.a1, d2.a2)."""
    return dot3(d1, a1), dot3(d1, a2) + dot3(d2, a1), dot3(d2, a2)


@device
def metric(d1, d2):
    """products(d1, d2, d1, d2)."""
    mixed = dot3(d1, d2)
    return dot3(d1, d1), mixed + mixed, dot3(d2, d2)


@device
def pull(b, x):
    """Products in rest axes."""
    r = b[1] * x[0]
    s = fma(b[2], x[1], r)
    return b[0] * b[0] * x[0], b[0] * (r + s), fma(b[1], s, b[2] * b[2] * x[2])


@device
def push(b, s):
    """Transpose of pull in x: sum s pull(b, x) = sum push(b, s) x."""
    r = b[0] * s[1]
    t = fma(b[1], s[2], r)
    return fma(b[0] * b[0], s[0], b[1] * (r + t)), b[2] * t, b[2] * b[2] * s[2]


@device
def pull_adjoint(b, x, s):
    """Transpose of pull in b: the cotangent of (b0, b1, b2) for the cotangent s of pull(b, x)."""
    twice = x[0] + x[0]
    p = b[0] * twice
    r = fma(b[2], x[1], b[1] * twice)
    t = b[2] * x[2]
    mixed = fma(b[1], s[2], b[0] * s[1])
    return fma(p, s[0], r * s[1]), fma(p, s[1], r * s[2]), fma(mixed, x[1], (t + t) * s[2])


@device
def products_gradient(a1, a2, k):
    """The pair (k0 a1 + k1 a2, k1 a1 + k2 a2): gradient of sum k products(d1, d2, a1, a2) with respect to d1, d2."""
    return fma3(a1, k[0], mul3(a2, k[1])), fma3(a1, k[1], mul3(a2, k[2]))


@device
def add_products_gradient(c1, c2, a1, a2, k):
    """products_gradient(a1, a2, k), added to the pair c1, c2."""
    return fma3(a1, k[0], fma3(a2, k[1], c1)), fma3(a1, k[1], fma3(a2, k[2], c2))
