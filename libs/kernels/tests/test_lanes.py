"""Lanes equal scalars bit for bit, in every operation and both float types, also on a processor without AVX."""

import os
import subprocess
import sys

import numpy as np
import pytest

from diffloom_kernels import (
    Program,
    absolute,
    any_lane,
    atan2,
    clamp,
    constant,
    cos,
    device,
    exp,
    floor,
    fma,
    launch,
    launch_lanes,
    ld3,
    log,
    maximum,
    minimum,
    not_lanes,
    reciprocal,
    sin,
    sqrt,
    store_corners,
    store_row3,
    where,
    where3,
)

COUNT = 43  # several runs of 8 or 4 and a scalar rest


@device
def arithmetic(e, a, b, c, out):
    R = a.dtype.type
    x, y, z = a[e], b[e], c[e]
    out[e, 0] = x + y * z
    out[e, 1] = x - y / z
    out[e, 2] = -x * R(3.5) + R(0.25)
    out[e, 3] = R(2) - x
    out[e, 4] = R(1) / y
    out[e, 5] = abs(x) + y
    out[e, 6] = +x
    s = R(0)
    for k in range(3):
        s += x * R(k)
    out[e, 7] = s
    t = x
    t *= y
    t -= z
    t /= y
    out[e, 8] = t
    out[e, 9] += fma(x, y, z)


@device
def comparisons(e, a, b, c, out):
    R = a.dtype.type
    x, y, z = a[e], b[e], c[e]
    one, zero = R(1), R(0)
    out[e, 0] = where(x < y, one, zero) + where(x <= y, one, zero)
    out[e, 1] = where(x > y, one, zero) + where(x >= y, one, zero)
    out[e, 2] = where(x == y, one, zero) + where(x != x, one, zero)
    out[e, 3] = where((x < y) & (y < z), x, y)
    out[e, 4] = where((x < y) | (y < z), x, z)
    out[e, 5] = where(not_lanes(x < y), y, x)
    out[e, 6] = minimum(x, y) + maximum(y, z)
    out[e, 7] = clamp(x, R(-0.5), R(0.5))
    out[e, 8] = where(R(1) > zero, x, y)
    some = zero
    if any_lane(x > R(1e30)):
        some = one
    out[e, 9] = some + where3(x < y, (x, x, x), (y, y, y))[1]


@device
def functions(e, a, b, c, out):
    x, y, z = a[e], b[e], c[e]
    p = absolute(x) + constant(x, 0.125)
    out[e, 0] = sqrt(p)
    out[e, 1] = exp(x)
    out[e, 2] = log(p)
    out[e, 3] = sin(x * y)
    out[e, 4] = cos(z)
    out[e, 5] = atan2(x, y)
    out[e, 6] = floor(x * constant(x, 10.0))
    out[e, 7] = reciprocal(y)
    out[e, 8] = atan2(x, constant(x, 0.5))
    out[e, 9] = sqrt(x * x + y * y + z * z)


def lanes_arithmetic(n, a, b, c, out):
    launch_lanes(n, arithmetic, a, b, c, out)


def plain_arithmetic(n, a, b, c, out):
    launch(n, arithmetic, a, b, c, out)


def lanes_comparisons(n, a, b, c, out):
    launch_lanes(n, comparisons, a, b, c, out)


def plain_comparisons(n, a, b, c, out):
    launch(n, comparisons, a, b, c, out)


def lanes_functions(n, a, b, c, out):
    launch_lanes(n, functions, a, b, c, out)


def plain_functions(n, a, b, c, out):
    launch(n, functions, a, b, c, out)


elementwise = Program(
    "test_lanes_elementwise",
    (
        lanes_arithmetic,
        plain_arithmetic,
        lanes_comparisons,
        plain_comparisons,
        lanes_functions,
        plain_functions,
    ),
)


@device
def corners(e, q, padded, nodes, weight, flag, matrix, slots, strided, owned):
    R = q.dtype.type
    i, j = nodes[e, 0], nodes[e, 1]
    w = where(flag[e] > 1, weight[e], R(-1)) * where(i < j, R(1), R(0.5))
    f = ld3(q, i)
    g = ld3(padded, j)
    h = ld3(padded, e)
    m = matrix[e, 0] * matrix[e, 5]
    f = (f[0] * w, f[1] + m, f[2])
    store_corners(slots[0], e, (f, g, h, (w, m, f[0])))
    store_corners(slots[1], e, (g, f, h))
    store_corners(slots[2], e, (h, g))
    store_corners(slots[3], e, (f,))
    strided[e, 1] = w + q[e, 2]
    store_row3(owned, e, g)
    owned[e, 0] += R(1)


def lanes_corners(n, q, padded, nodes, weight, flag, matrix, slots, strided, owned):
    launch_lanes(n, corners, q, padded, nodes, weight, flag, matrix, slots, strided, owned)


def plain_corners(n, q, padded, nodes, weight, flag, matrix, slots, strided, owned):
    launch(n, corners, q, padded, nodes, weight, flag, matrix, slots, strided, owned)


indexing = Program("test_lanes_indexing", (lanes_corners, plain_corners))

reals = pytest.mark.parametrize("real", [np.float32, np.float64])


def numbers(real, shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(real)


def same_bits(a, b):
    return a.dtype == b.dtype and a.tobytes() == b.tobytes()


@reals
@pytest.mark.parametrize("case", ["arithmetic", "comparisons", "functions"])
def test_bitwise_operations(case, real):
    args = [numbers(real, COUNT, seed) for seed in range(3)]
    args[0][::5] = args[1][::5]
    args[0][3] = np.nan
    results = []
    for kind in ("lanes", "plain"):
        out = np.ones((COUNT, 10), real)
        elementwise.run(f"{kind}_{case}", COUNT, *args, out, target="serial")
        results.append(out)
    assert same_bits(*results)
    assert np.isfinite(results[0][4:]).all()
    assert len(np.unique(results[0])) > 2 * COUNT  # something was computed


@reals
def test_bitwise_indexing(real):
    nodes = np.random.default_rng(1).integers(0, 50, (COUNT, 2)).astype(np.int32)
    flag = np.arange(COUNT) % 3
    results = []
    for kind in ("lanes", "plain"):
        padded = numbers(real, (60, 4), 1)
        slots = tuple(np.full((COUNT, corner, 4), 7, real) for corner in (4, 3, 2, 1))
        strided, owned = np.zeros((COUNT, 3), real), np.full((COUNT, 4), 7, real)
        matrix = np.asfortranarray(numbers(real, (COUNT, 9), 4))
        args = (numbers(real, (60, 3), 2), padded, nodes, numbers(real, COUNT, 3), flag, matrix, slots, strided, owned)
        indexing.run(f"{kind}_corners", COUNT, *args, target="serial")
        results.append([*slots, strided, owned])
        assert np.array_equal(slots[2][:, 1, :3], padded[nodes[:, 1], :3])
        assert not slots[0][..., 3].any()
        assert not owned[:, 3].any()
    for lanes, plain in zip(*results, strict=True):
        assert same_bits(lanes, plain)


@reals
def test_the_numbers_are_right(real):
    a, b, c = (numbers(real, COUNT, seed) for seed in range(3))
    out = np.ones((COUNT, 10), real)
    elementwise.run("lanes_functions", COUNT, a, b, c, out, target="serial")
    wide = [values.astype(np.float64) for values in (a, b, c)]
    positive = np.abs(wide[0]) + 0.125
    expected = [np.sqrt(positive), np.exp(wide[0]), np.log(positive), np.sin(wide[0] * wide[1]), np.cos(wide[2])]
    expected.append(np.arctan2(wide[0], wide[1]))
    np.testing.assert_allclose(out[:, :6].T, expected, rtol=2e-4 if real is np.float32 else 1e-12, atol=1e-6)


@pytest.mark.skipif(os.environ.get("NUMBA_CPU_NAME") == "generic", reason="is the inner run")
def test_without_vector_extensions():
    """Run these tests for a generic processor: vectors are split, bits stay."""
    plain = ["-c", os.devnull, "--import-mode=importlib", "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", "-q", "-x", *plain, __file__]
    done = subprocess.run(
        command, env={**os.environ, "NUMBA_CPU_NAME": "generic"}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-3000:]
    assert "10 passed" in done.stdout, done.stdout[-500:]
