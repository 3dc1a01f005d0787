"""Device functions whose adjoints the tests derive."""

from diffloom_kernels import (
    absolute,
    add3,
    atan2,
    clamp,
    constant,
    cos,
    device,
    dot3,
    exp,
    floor,
    fma,
    ld3,
    length3,
    log,
    maximum,
    minimum,
    mul3,
    reciprocal,
    sin,
    sqrt,
    where,
)


@device
def elementary(x, y):
    """Every elementary function once."""
    a = sqrt(x) * exp(-y) + log(x) / (x + y) - sin(x * y) ** 3
    b = atan2(y, x) + absolute(y - x) * cos(x) + fma(x, y, reciprocal(y)) + floor(x) * x
    return a * maximum(x, y) + b * minimum(x, y * y) + clamp(x * y, constant(x, 0), constant(x, 0.5))


@device
def branches(x, y):
    """Branches, with one that returns and one that sets variables."""
    z = x * y
    w = y
    if x > constant(x, 0.5):
        z = z * z
        if y > x:
            w = x * x
    else:
        w = z + y
    if z > w:
        return sin(z) + w
    return z * w if y > constant(x, 0) else w


@device
def squared(v):
    """v.v, which has no adjoint of its own."""
    return dot3(v, v)


@device
def unrolled(v, k):
    """Loops over constants and over tuples, and calls of functions over tuples."""
    total = constant(k, 0)
    for c in range(3):
        for d in range(c, 3):
            total += v[c] * v[d] * k
    for entry in v:
        total = total + entry * length3(mul3(v, k))
    p, (q, r) = k, (v[0], v[2])
    return add3(mul3(v, total), (p, q, squared(v))), r * k


@device
def summed(i, starts, rows, weight, x):
    """A sum whose length is known at run time, of terms that depend on parameters, a state and themselves."""
    total = (x[0] - x[0], x[1] - x[1])
    product = weight[i]
    for s in range(starts[i], starts[i + 1]):
        near = where(rows[s, 0] > x[0], rows[s, 0] * x[0], x[1])
        if rows[s, 1] > x[1]:
            near = near * near * weight[i]
        total = (total[0] + near, total[1] + sqrt(near * near + rows[s, 1]) * product)
    return total


@device
def running(x, count):
    """A product over a loop of unknown length: its derivative needs every intermediate value."""
    total = x
    for _s in range(count):
        total = total * x
    return total


@device
def searching(x):
    """A loop that ends by its data."""
    while x > constant(x, 1):
        x = x / constant(x, 2)
    return x


@device
def elsewhere(i, clock, q, u, gain):
    """A force by the place of the next node."""
    return mul3(ld3(q, i + 1), gain[i])


@device
def own_rule(x, y):
    """x y, with an adjoint that tells whether it is called."""
    return x * y


@device(adjoint_of=own_rule)
def own_rule_adjoint(x, y, adj):
    """Twice the cotangents."""
    return adj * y * constant(x, 2), adj * x * constant(x, 2)


@device
def uses_own_rule(x, y):
    """A caller of own_rule."""
    return own_rule(x * x, y)
