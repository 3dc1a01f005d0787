"""Pipeline of every operation on dual numbers."""

from diffloom_kernels import (
    absolute,
    atan2,
    constant,
    cos,
    device,
    exp,
    floor,
    fma,
    launch,
    ld3,
    length3,
    log,
    maximum,
    mul3,
    reciprocal,
    row_add,
    row_fma,
    row_from_vec3,
    row_load,
    row_scale,
    row_store,
    sin,
    sqrt,
    where,
)


@device
def mixed(i, x, table, out):
    """Write the row of item i, from dual numbers, floats and integers."""
    T = x.dtype.type
    v = ld3(x, i)
    total = T(0)
    for c in range(3):
        total += v[c] * T(2) - table[c]
    s = where(v[0] > T(0.5), sqrt(v[0]), exp(-v[1])) * sin(v[2]) + cos(total) + atan2(v[0], v[1])
    s -= atan2(v[2], table[1]) * atan2(table[0], v[1]) / log(v[0] + constant(v[0], 1))
    k = int(floor(v[0] * T(10)))
    s = fma(s, T(k), maximum(v[1], T(0.4))) * reciprocal(v[0]) + absolute(v[0] - v[2])
    w = mul3(v, s * length3(v))
    row_store(out, i, row_add(row_fma(row_from_vec3(w), T(0.5), row_load(x, i)), row_scale(row_load(x, i), s)))
    out[i, 2] += v[1] ** 3 if k % 2 == 0 else -v[1]


def every_operation(x, table, out):
    """Run over all rows."""
    launch(x.shape[0], mixed, x, table, out)
