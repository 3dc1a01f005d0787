"""Working with a run of pixels as a whole: where it starts, how many it holds, and sums over it.

Each function takes an int or a scalar too, as on CUDA, where a run is one pixel.
"""

from __future__ import annotations

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from diffloom_kernels import overloaded
from diffloom_kernels.simd import FloatLanes, IndexLanes, MaskLanes, Run, pack_indices, unpack


def first_of(e):
    """The first element of a run, an int."""
    return e


def width_of(e):
    """How many elements a run holds."""
    return 1


def total(x):
    """Sum over the lanes, added pairwise in a fixed order."""
    return x


def alll(c):
    """Whether c holds for every lane."""
    return c


@intrinsic
def _start(typingctx, e):
    def codegen(context, builder, sig, args):
        return args[0]

    return types.int64(e), codegen


@overloaded(first_of)
def _first_of(e):
    return (lambda e: _start(e)) if isinstance(e, Run) else first_of


@overloaded(width_of)
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


def index_of(x):
    """Whole numbers held as floats, as indices."""
    return int(x)


def lane_of(x, k):
    """The k-th lane, a scalar; k is a plain int below the width."""
    return x


@intrinsic
def _index_of(typingctx, x):
    def codegen(context, builder, sig, args):
        return pack_indices(builder, [builder.fptosi(lane, ir.IntType(64)) for lane in unpack(builder, args[0])])

    return IndexLanes(x.count)(x), codegen


@overloaded(index_of)
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


@overloaded(lane_of)
def _overload_lane_of(x, k):
    if isinstance(x, FloatLanes | MaskLanes):
        return lambda x, k: _lane_of(x, k)
    return lane_of
