"""Operations on a run of lanes: its first element, its width, sums over it, exponential and logarithm.

Each function also takes an int or a scalar, as on CUDA, where a run is one pixel. exp and log of lanes are vector code:
a few times faster than a library call per lane, right to about one ulp. Both split off a power of two by its bits and
sum a polynomial for the rest; scalars take the same path and so give the same bits as lanes.
"""

from __future__ import annotations

import math

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from diffloom_kernels import constant, device, floor, maximum, minimum, overloaded, where
from diffloom_kernels.simd import FloatLanes, IndexLanes, MaskLanes, Run, pack_indices, unpack


def first_index(e):
    """Return the first element of a run, an int."""
    return e


def run_width(e):
    """Return the number of elements of a run."""
    return 1


def total(x):
    """Return the sum over the lanes, added pairwise in a fixed order."""
    return x


def alll(c):
    """Return True if c holds for every lane."""
    return c


@intrinsic
def _start(typingctx, e):
    def codegen(context, builder, sig, args):
        return args[0]

    return types.int64(e), codegen


@overloaded(first_index)
def _first_of(e):
    return (lambda e: _start(e)) if isinstance(e, Run) else first_index


@overloaded(run_width)
def _width_of(e):
    count = e.count if isinstance(e, Run) else 1
    return lambda e: count


@intrinsic
def _total(typingctx, x):
    def codegen(context, builder, sig, args):
        vector, count = args[0], x.count
        while count > 1:
            count //= 2
            halves = [
                builder.shuffle_vector(vector, vector, ir.Constant(ir.VectorType(ir.IntType(32), count), list(part)))
                for part in (range(count), range(count, 2 * count))
            ]
            vector = builder.fadd(*halves)
        return builder.extract_element(vector, ir.Constant(ir.IntType(32), 0))

    return x.dtype(x), codegen


@overloaded(total)
def _total_of(x):
    if isinstance(x, FloatLanes):
        return lambda x: _total(x)
    return total if isinstance(x, types.Float) else None


@intrinsic
def _every(typingctx, c):
    def codegen(context, builder, sig, args):
        bits = builder.bitcast(args[0], ir.IntType(c.count))
        return builder.icmp_unsigned("==", bits, ir.Constant(bits.type, 2**c.count - 1))

    return types.boolean(c), codegen


@overloaded(alll)
def _alll(c):
    if isinstance(c, MaskLanes):
        return lambda c: _every(c)
    return alll if isinstance(c, types.Boolean) else None


def to_index(x):
    """Return whole numbers that are stored as floats as indices."""
    return int(x)


def extract_lane(x, k):
    """Return the k-th lane, a scalar; k is a plain int below the width."""
    return x


@intrinsic
def _index_of(typingctx, x):
    def codegen(context, builder, sig, args):
        return pack_indices(builder, [builder.fptosi(lane, ir.IntType(64)) for lane in unpack(builder, args[0])])

    return IndexLanes(x.count)(x), codegen


@overloaded(to_index)
def _overload_index_of(x):
    if isinstance(x, FloatLanes):
        return lambda x: _index_of(x)
    return (lambda x: types.int64(x)) if isinstance(x, types.Float) else None


@intrinsic
def _lane_of(typingctx, x, k):
    kind = types.boolean if isinstance(x, MaskLanes) else x.dtype

    def codegen(context, builder, sig, args):
        return builder.extract_element(args[0], builder.trunc(args[1], ir.IntType(32)))

    return kind(x, types.int64), codegen


@overloaded(extract_lane)
def _overload_lane_of(x, k):
    if isinstance(x, FloatLanes | MaskLanes):
        return lambda x, k: _lane_of(x, k)
    return extract_lane


def two_to(n):
    """Return 2 to the power n, a whole number within the exponents of normal floats."""
    return type(n)(2.0) ** n


def split_power(x):
    """Return (m, n) with x = m 2^n and m in [1, 2); x must be positive and normal."""
    m, n = np.frexp(x)
    return type(x)(2 * m), type(x)(n - 1)


def is_single(x):
    """Return True if x is float32."""
    return np.dtype(type(x)) == np.float32


def _layout(kind):
    """Return integer type, mantissa bits and exponent bias that go with a float type or its lanes."""
    real = kind.dtype if isinstance(kind, FloatLanes) else kind
    bits = real.bitwidth
    integer = ir.IntType(bits)
    if isinstance(kind, FloatLanes):
        integer = ir.VectorType(integer, kind.count)
    return integer, *((23, 127) if bits == 32 else (52, 1023))


def _splat(kind, value):
    """Return a constant that is equal in all lanes."""
    return ir.Constant(kind, [value] * kind.count if isinstance(kind, ir.VectorType) else value)


# Whole numbers change between float and integer by adding a float so large that the lowest bit counts ones: AVX2 has
# no conversion of 64 bit integers.


@intrinsic
def _two_to(typingctx, n):
    integer, mantissa, bias = _layout(n)

    def codegen(context, builder, sig, args):
        real = args[0].type
        shifted = builder.fadd(args[0], _splat(real, 1.5 * 2.0**mantissa + bias))
        return builder.bitcast(builder.shl(builder.bitcast(shifted, integer), _splat(integer, mantissa)), real)

    return n(n), codegen


@intrinsic
def _split_power(typingctx, x):
    integer, mantissa, bias = _layout(x)

    def codegen(context, builder, sig, args):
        real, bits = args[0].type, builder.bitcast(args[0], integer)
        ones = builder.bitcast(_splat(real, 2.0**mantissa), integer)
        power = builder.bitcast(builder.or_(builder.lshr(bits, _splat(integer, mantissa)), ones), real)
        power = builder.fsub(power, _splat(real, 2.0**mantissa + bias))
        fraction = builder.and_(bits, _splat(integer, (1 << mantissa) - 1))
        scaled = builder.bitcast(builder.or_(fraction, _splat(integer, bias << mantissa)), real)
        return context.make_tuple(builder, sig.return_type, [scaled, power])

    return types.UniTuple(x, 2)(x), codegen


def _is_float(kind) -> bool:
    return isinstance(kind, FloatLanes | types.Float)


def _portable_two_to(n):
    kind = n
    return lambda n: kind(math.ldexp(kind(1.0), int(n)))


def _portable_split_power(x):
    kind = x

    def split(x):
        m, n = math.frexp(x)
        return kind(2.0) * kind(m), kind(n - 1)

    return split


@overloaded(two_to, portable=_portable_two_to)
def _overload_two_to(n):
    return (lambda n: _two_to(n)) if _is_float(n) else None


@overloaded(split_power, portable=_portable_split_power)
def _overload_split_power(x):
    return (lambda x: _split_power(x)) if _is_float(x) else None


@overloaded(is_single)
def _overload_is_single(x):
    if not _is_float(x):
        return None
    single = (x.dtype if isinstance(x, FloatLanes) else x).bitwidth == 32
    return lambda x: single


LOG2_E = 1.4426950408889634
# ln 2 in two parts; the first has so few bits that its product with a whole exponent is exact (Cody and Waite 1980).
LN2_HIGH_32, LN2_LOW_32 = 0.693359375, -2.12194440054690583e-4
LN2_HIGH_64, LN2_LOW_64 = 6.93145751953125e-1, 1.42860682030941723212e-6
LARGEST_32, LARGEST_64 = 88.0, 709.0
E2, E3, E4, E5, E6, E7 = [1.0 / math.factorial(k) for k in range(2, 8)]
E8, E9, E10, E11, E12, E13 = [1.0 / math.factorial(k) for k in range(8, 14)]


@device
def expv(x):
    """Return e to the power x, limited to about 1e38 (float32) or 1e308 (float64) and their reciprocals."""
    one = constant(x, 1.0)
    if is_single(x):
        y = maximum(minimum(x, constant(x, LARGEST_32)), constant(x, -LARGEST_32 + 1.0))
        n = floor(y * constant(x, LOG2_E) + constant(x, 0.5))
        r = (y - n * constant(x, LN2_HIGH_32)) - n * constant(x, LN2_LOW_32)
        s = constant(x, E7) * r + constant(x, E6)
        s = s * r + constant(x, E5)
    else:
        y = maximum(minimum(x, constant(x, LARGEST_64)), constant(x, -LARGEST_64 + 1.0))
        n = floor(y * constant(x, LOG2_E) + constant(x, 0.5))
        r = (y - n * constant(x, LN2_HIGH_64)) - n * constant(x, LN2_LOW_64)
        s = constant(x, E13) * r + constant(x, E12)
        s = s * r + constant(x, E11)
        s = s * r + constant(x, E10)
        s = s * r + constant(x, E9)
        s = s * r + constant(x, E8)
        s = s * r + constant(x, E7)
        s = s * r + constant(x, E6)
        s = s * r + constant(x, E5)
    s = s * r + constant(x, E4)
    s = s * r + constant(x, E3)
    s = s * r + constant(x, E2)
    return (s * r * r + r + one) * two_to(n)


@device
def logv(x):
    """Return the natural logarithm of x, which must be positive and normal.

    With x = m 2^n, m near 1 and s = (m - 1) / (m + 1): log m = 2 (s + s^3 / 3 + s^5 / 5 + ...), |s| < 0.172.
    """
    one = constant(x, 1.0)
    m, n = split_power(x)
    big = m > constant(x, 1.4142135623730951)
    m = where(big, m * constant(x, 0.5), m)
    n = where(big, n + one, n)
    s = (m - one) / (m + one)
    z = s * s
    if is_single(x):
        t = constant(x, 2.0 / 9.0) * z + constant(x, 2.0 / 7.0)
        high, low = constant(x, LN2_HIGH_32), constant(x, LN2_LOW_32)
    else:
        t = constant(x, 2.0 / 21.0) * z + constant(x, 2.0 / 19.0)
        t = t * z + constant(x, 2.0 / 17.0)
        t = t * z + constant(x, 2.0 / 15.0)
        t = t * z + constant(x, 2.0 / 13.0)
        t = t * z + constant(x, 2.0 / 11.0)
        t = t * z + constant(x, 2.0 / 9.0)
        t = t * z + constant(x, 2.0 / 7.0)
        high, low = constant(x, LN2_HIGH_64), constant(x, LN2_LOW_64)
    t = t * z + constant(x, 2.0 / 5.0)
    t = t * z + constant(x, 2.0 / 3.0)
    return n * high + (s * constant(x, 2.0) + (s * z * t + n * low))
