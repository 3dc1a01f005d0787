"""Elementary functions and selection on lanes."""

from __future__ import annotations

import math

from llvmlite import ir
from numba.core import types
from numba.core.typing.templates import signature
from numba.extending import intrinsic

from .. import functions
from ..language import overloaded
from .types import FloatLanes, IndexLanes, MaskLanes, call_intrinsic, pack, unpack

#: Functions that are one vector instruction.
_NATIVE = {functions.sqrt: "llvm.sqrt", functions.floor: "llvm.floor", functions.absolute: "llvm.fabs"}
#: Functions computed lane by lane with the routine of scalar code, which gives the same bits.
_SCALARISED = {functions.exp: math.exp, functions.log: math.log, functions.sin: math.sin, functions.cos: math.cos}


def _overload_native(function, name):
    """Overload a function for lanes by an LLVM intrinsic."""
    @intrinsic
    def call(typingctx, x):
        def codegen(context, builder, sig, args):
            return call_intrinsic(builder, name, args[0])

        return x(x), codegen

    @overloaded(function)
    def lanes(x):
        return (lambda x: call(x)) if isinstance(x, FloatLanes) else None


def _each_lane(context, builder, routine, real, vectors):
    """Emit a scalar routine for every lane."""
    call = context.get_function(routine, signature(real, *[real] * len(vectors)))
    lanes = zip(*[unpack(builder, vector) for vector in vectors], strict=True)
    return pack(builder, [call(builder, list(lane)) for lane in lanes])


def _overload_scalarised(function, routine):
    """Overload a function for lanes by its scalar routine."""
    @intrinsic
    def call(typingctx, x):
        typingctx.resolve_function_type(routine, (x.dtype,), {})

        def codegen(context, builder, sig, args):
            return _each_lane(context, builder, routine, x.dtype, args)

        return x(x), codegen

    @overloaded(function)
    def lanes(x):
        return (lambda x: call(x)) if isinstance(x, FloatLanes) else None


for _function, _name in _NATIVE.items():
    _overload_native(_function, _name)
for _function, _routine in _SCALARISED.items():
    _overload_scalarised(_function, _routine)


@intrinsic
def _atan2(typingctx, y, x):
    """Emit ``math.atan2`` for every lane."""
    lanes = y if isinstance(y, FloatLanes) else x
    typingctx.resolve_function_type(math.atan2, (lanes.dtype, lanes.dtype), {})

    def codegen(context, builder, sig, args):
        return _each_lane(context, builder, math.atan2, lanes.dtype, args)

    return lanes(lanes, lanes), codegen


@overloaded(functions.atan2)
def _lanes_atan2(y, x):
    """Overload ``atan2`` for lanes."""
    if isinstance(y, FloatLanes) or isinstance(x, FloatLanes):
        return lambda y, x: _atan2(y, x)
    return None


@intrinsic
def _emit_fused(typingctx, a, b, c):
    """Emit ``llvm.fmuladd`` on vectors."""
    lanes = next(kind for kind in (a, b, c) if isinstance(kind, FloatLanes))

    def codegen(context, builder, sig, args):
        return call_intrinsic(builder, "llvm.fmuladd", *args)

    return lanes(lanes, lanes, lanes), codegen


@overloaded(functions.fma)
def _lanes_fma(a, b, c):
    """Overload ``fma`` for lanes."""
    lanes = next((kind for kind in (a, b, c) if isinstance(kind, FloatLanes)), None)
    if lanes is not None and all(kind in (lanes, lanes.dtype) for kind in (a, b, c)):
        return lambda a, b, c: _emit_fused(a, b, c)
    return None


@overloaded(functions.constant)
def _lanes_constant(x, value):
    """Overload ``constant`` for lanes."""
    if isinstance(x, FloatLanes):
        kind = x.dtype
        return lambda x, value: kind(value)
    return None


@overloaded(functions.reciprocal)
def _lanes_reciprocal(x):
    """Overload ``reciprocal`` for lanes."""
    if isinstance(x, FloatLanes):
        kind = x.dtype
        return lambda x: kind(1.0) / x
    return None


@intrinsic
def _select(typingctx, c, a, b):
    """Emit the selection between lanes by a mask."""
    lanes = next((kind for kind in (a, b) if isinstance(kind, FloatLanes | IndexLanes | MaskLanes)), None)
    if lanes is None:
        lanes = MaskLanes(c.count) if isinstance(a, types.Boolean) else FloatLanes(a, c.count)

    def codegen(context, builder, sig, args):
        if not isinstance(lanes, IndexLanes):
            return builder.select(*args)
        values = args[1]
        for k, condition in enumerate(unpack(builder, args[0])):
            chosen = builder.select(condition, builder.extract_value(args[1], k), builder.extract_value(args[2], k))
            values = builder.insert_value(values, chosen, k)
        return values

    return lanes(c, lanes, lanes), codegen


@overloaded(functions.where)
def _lanes_where(c, a, b):
    """Overload ``where`` for a mask, or for lanes with a scalar condition."""
    if isinstance(c, MaskLanes):
        return lambda c, a, b: _select(c, a, b)
    if isinstance(c, types.Boolean) and any(isinstance(kind, FloatLanes | IndexLanes | MaskLanes) for kind in (a, b)):
        return functions.where  # one condition for all lanes
    return None


@intrinsic
def _some(typingctx, c):
    """Emit the test that some lane of a mask is set."""
    def codegen(context, builder, sig, args):
        bits = builder.bitcast(args[0], ir.IntType(c.count))
        return builder.icmp_unsigned("!=", bits, ir.Constant(bits.type, 0))

    return types.boolean(c), codegen


@overloaded(functions.any_lane)
def _lanes_any_lane(c):
    """Overload ``any_lane`` for masks."""
    return (lambda c: _some(c)) if isinstance(c, MaskLanes) else None


@overloaded(functions.not_lanes)
def _lanes_not_lanes(c):
    """Overload ``not_lanes`` for masks."""
    return (lambda c: ~c) if isinstance(c, MaskLanes) else None
