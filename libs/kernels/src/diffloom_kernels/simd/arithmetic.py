"""Operators on lanes.

Scalars combine with lanes of the same float type only: an int or a float64 with float32 lanes does not compile, so
nothing is widened silently.
"""

from __future__ import annotations

import operator

from llvmlite import ir
from numba.core import types
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import lower_builtin

from .types import FloatLanes, IndexLanes, MaskLanes, Run, call_intrinsic, pack, pack_indices, unpack_indices

_FLOAT = {operator.add: "fadd", operator.sub: "fsub", operator.mul: "fmul", operator.truediv: "fdiv"}
_INPLACE = {
    operator.iadd: operator.add,
    operator.isub: operator.sub,
    operator.imul: operator.mul,
    operator.itruediv: operator.truediv,
    operator.iand: operator.and_,
    operator.ior: operator.or_,
}
_INDEX = {operator.add: "add", operator.sub: "sub", operator.mul: "mul"}
_MASK = {operator.and_: "and_", operator.or_: "or_", operator.xor: "xor"}
_COMPARE = {
    operator.lt: "<",
    operator.le: "<=",
    operator.gt: ">",
    operator.ge: ">=",
    operator.eq: "==",
    operator.ne: "!=",
}


def _common_float(a, b):
    """Return the float lanes that both operands convert to, or None."""
    lanes = a if isinstance(a, FloatLanes) else b
    other = b if lanes is a else a
    return lanes if isinstance(lanes, FloatLanes) and other in (lanes, lanes.dtype) else None


def _common_index(a, b):
    """Return the index lanes that both operands convert to, or None."""
    counts = {kind.count for kind in (a, b) if isinstance(kind, IndexLanes | Run)}
    fits = all(isinstance(kind, IndexLanes | Run | types.Integer) for kind in (a, b))
    return IndexLanes(counts.pop()) if fits and len(counts) == 1 else None


def _common_mask(a, b):
    """Return the mask lanes that both operands convert to, or None."""
    lanes = a if isinstance(a, MaskLanes) else b
    other = b if lanes is a else a
    fits = isinstance(lanes, MaskLanes) and (other == lanes or isinstance(other, types.Boolean))
    return lanes if fits else None


def _register_typing(op, rule):
    """Register the typing rule of a binary operator."""
    @infer_global(op)
    class LaneOperator(AbstractTemplate):
        """Typing rule of a binary operator."""

        def generic(self, args, kws):
            """Return the signature, or None."""
            return rule(*args) if len(args) == 2 and not kws else None


def _arithmetic_rule(op):
    """Return the typing rule of an arithmetic or logical operator."""
    def rule(a, b):
        if op in _INDEX and isinstance(a, Run) and isinstance(b, types.Integer) and op is not operator.mul:
            return signature(a, a, types.int64)  # a run plus an integer is a run
        if op in _FLOAT and (lanes := _common_float(a, b)):
            return signature(lanes, lanes, lanes)
        if op in _INDEX and (lanes := _common_index(a, b)):
            return signature(lanes, lanes, lanes)
        if op in _MASK and (lanes := _common_mask(a, b)):
            return signature(lanes, lanes, lanes)
        return None

    return rule


def _compare_rule(a, b):
    """Return the signature of a comparison, or None."""
    lanes = _common_float(a, b) or _common_index(a, b)
    return signature(MaskLanes(lanes.count), lanes, lanes) if lanes else None


def _lower_float(op, name):
    """Register the lowering of an operator on float lanes."""
    @lower_builtin(op, FloatLanes, FloatLanes)
    def implementation(context, builder, sig, args):
        return getattr(builder, name)(*args)


def _lower_index(op, name):
    """Register the lowering of an operator on index lanes and runs."""
    @lower_builtin(op, IndexLanes, IndexLanes)
    def lanes(context, builder, sig, args):
        pairs = zip(unpack_indices(builder, args[0]), unpack_indices(builder, args[1]), strict=True)
        return pack_indices(builder, [getattr(builder, name)(a, b) for a, b in pairs])

    if name != "mul":

        @lower_builtin(op, Run, types.int64)
        def run(context, builder, sig, args):
            return getattr(builder, name)(*args)


def _lower_mask(op, name):
    """Register the lowering of an operator on masks."""
    @lower_builtin(op, MaskLanes, MaskLanes)
    def implementation(context, builder, sig, args):
        return getattr(builder, name)(*args)


def _lower_compare(op, text):
    """Register the lowering of a comparison."""
    @lower_builtin(op, FloatLanes, FloatLanes)
    def floats(context, builder, sig, args):
        # != holds for nan, as in scalar code
        return builder.fcmp_unordered(text, *args) if text == "!=" else builder.fcmp_ordered(text, *args)

    @lower_builtin(op, IndexLanes, IndexLanes)
    def indices(context, builder, sig, args):
        pairs = zip(unpack_indices(builder, args[0]), unpack_indices(builder, args[1]), strict=True)
        return pack(builder, [builder.icmp_signed(text, a, b) for a, b in pairs])


for _op in (*_FLOAT, *_MASK):
    _register_typing(_op, _arithmetic_rule(_op))
for _op, _plain in _INPLACE.items():
    _register_typing(_op, _arithmetic_rule(_plain))
for _op, _text in _COMPARE.items():
    _register_typing(_op, _compare_rule)
    _lower_compare(_op, _text)
for _table, _lower in ((_FLOAT, _lower_float), (_INDEX, _lower_index), (_MASK, _lower_mask)):
    for _op, _name in _table.items():
        for _same in [_op, *[key for key, plain in _INPLACE.items() if plain is _op]]:
            _lower(_same, _name)


@infer_global(operator.neg)
@infer_global(operator.pos)
@infer_global(abs)
class _UnaryFloat(AbstractTemplate):
    """Typing rule of unary operators on float lanes."""
    def generic(self, args, kws):
        """Return the signature, or None."""
        return signature(args[0], args[0]) if isinstance(args[0], FloatLanes) else None


@infer_global(operator.invert)
class _InvertMask(AbstractTemplate):
    """Typing rule of ~ on masks."""
    def generic(self, args, kws):
        """Return the signature, or None."""
        return signature(args[0], args[0]) if isinstance(args[0], MaskLanes) else None


@lower_builtin(operator.neg, FloatLanes)
def _negate(context, builder, sig, args):
    """Emit -x."""
    return builder.fneg(args[0])


@lower_builtin(operator.pos, FloatLanes)
def _same_value(context, builder, sig, args):
    """Return +x, which is x."""
    return args[0]


@lower_builtin(abs, FloatLanes)
def _absolute(context, builder, sig, args):
    """Emit |x|."""
    return call_intrinsic(builder, "llvm.fabs", args[0])


@lower_builtin(operator.invert, MaskLanes)
def _not(context, builder, sig, args):
    """Emit ~mask."""
    return builder.xor(args[0], ir.Constant(args[0].type, [1] * args[0].type.count))
