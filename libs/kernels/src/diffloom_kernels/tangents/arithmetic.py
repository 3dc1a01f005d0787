"""Operators on dual numbers; comparisons look at values alone."""

from __future__ import annotations

import operator

from llvmlite import ir
from numba.core import types
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import lower_builtin

from ..simd.types import broadcast, call_intrinsic
from .types import Dual, make_dual, parts_of

_INPLACE = {
    operator.iadd: operator.add, operator.isub: operator.sub, operator.imul: operator.mul,
    operator.itruediv: operator.truediv,
}  # fmt: skip
_COMPARE = {
    operator.lt: "<", operator.le: "<=", operator.gt: ">", operator.ge: ">=", operator.eq: "==", operator.ne: "!=",
}  # fmt: skip


def common_dual(*kinds):
    """Return the dual type that all arguments convert to, or None."""
    found = {kind for kind in kinds if isinstance(kind, Dual)}
    fits = all(isinstance(kind, Dual | types.Float | types.Integer) for kind in kinds)
    return found.pop() if len(found) == 1 and fits else None


def _register(op, result):
    """Register the typing rule of a binary operator; ``result`` is its type for a dual type."""

    @infer_global(op)
    class DualOperator(AbstractTemplate):
        """Typing rule of a binary operator."""

        def generic(self, args, kws):
            """Return the signature, or None."""
            dual = common_dual(*args) if len(args) == 2 and not kws else None
            return signature(result(dual), dual, dual) if dual else None


def _add(builder, a, da, b, db):
    """a + b."""
    return builder.fadd(a, b), builder.fadd(da, db)


def _sub(builder, a, da, b, db):
    """a - b."""
    return builder.fsub(a, b), builder.fsub(da, db)


def _mul(builder, a, da, b, db):
    """a b."""
    wide_a, wide_b = (broadcast(builder, x, da.type.count) for x in (a, b))
    return builder.fmul(a, b), builder.fadd(builder.fmul(da, wide_b), builder.fmul(wide_a, db))


def _div(builder, a, da, b, db):
    """a / b, whose tangent is (da - (a / b) db) / b."""
    value = builder.fdiv(a, b)
    wide, below = (broadcast(builder, x, da.type.count) for x in (value, b))
    return value, builder.fdiv(builder.fsub(da, builder.fmul(wide, db)), below)


_FLOAT = {operator.add: _add, operator.sub: _sub, operator.mul: _mul, operator.truediv: _div}


def _lower_float(op, emit):
    """Register the lowering of an arithmetic operator."""

    @lower_builtin(op, Dual, Dual)
    def implementation(context, builder, sig, args):
        return make_dual(builder, *emit(builder, *parts_of(builder, args[0]), *parts_of(builder, args[1])))


def _lower_compare(op, text):
    """Register the lowering of a comparison."""

    @lower_builtin(op, Dual, Dual)
    def implementation(context, builder, sig, args):
        a, b = (builder.extract_value(x, 0) for x in args)
        return builder.fcmp_unordered(text, a, b) if text == "!=" else builder.fcmp_ordered(text, a, b)


for _op, _emit in _FLOAT.items():
    for _same in (_op, *(key for key, plain in _INPLACE.items() if plain is _op)):
        _register(_same, lambda dual: dual)
        _lower_float(_same, _emit)
for _op, _text in _COMPARE.items():
    _register(_op, lambda dual: types.boolean)
    _lower_compare(_op, _text)


@infer_global(operator.neg)
@infer_global(operator.pos)
@infer_global(abs)
class _UnaryDual(AbstractTemplate):
    """Typing rule of unary operators."""

    def generic(self, args, kws):
        """Return the signature, or None."""
        return signature(args[0], args[0]) if isinstance(args[0], Dual) else None


@infer_global(operator.pow)
class _PowerOfDual(AbstractTemplate):
    """Typing rule of whole powers."""

    def generic(self, args, kws):
        """Return the signature, or None."""
        fits = isinstance(args[0], Dual) and isinstance(args[1], types.Integer)
        return signature(args[0], args[0], types.int64) if fits else None


@lower_builtin(operator.pow, Dual, types.int64)
def _power(context, builder, sig, args):
    """Emit x ** n, whose tangent is n x ** (n - 1) dx."""
    value, tangents = parts_of(builder, args[0])
    n = builder.trunc(args[1], ir.IntType(32))
    kind = ir.FunctionType(value.type, [value.type, n.type])
    power = builder.module.globals.get("llvm.powi.f64.i32") or ir.Function(builder.module, kind, "llvm.powi.f64.i32")
    less = builder.call(power, [value, builder.sub(n, ir.Constant(n.type, 1))])
    slope = builder.fmul(builder.sitofp(n, value.type), less)
    moved = builder.fmul(tangents, broadcast(builder, slope, tangents.type.count))
    return make_dual(builder, builder.call(power, [value, n]), moved)


@lower_builtin(operator.neg, Dual)
def _negate(context, builder, sig, args):
    """Emit -x."""
    value, tangents = parts_of(builder, args[0])
    return make_dual(builder, builder.fneg(value), builder.fneg(tangents))


@lower_builtin(operator.pos, Dual)
def _same_value(context, builder, sig, args):
    """Return +x, which is x."""
    return args[0]


@lower_builtin(abs, Dual)
def _absolute(context, builder, sig, args):
    """Emit |x|, whose tangent is -dx below zero."""
    value, tangents = parts_of(builder, args[0])
    below = builder.fcmp_ordered("<", value, ir.Constant(value.type, 0.0))
    moved = builder.select(below, builder.fneg(tangents), tangents)
    single = builder.insert_element(
        ir.Constant(ir.VectorType(value.type, 1), ir.Undefined), value, ir.Constant(ir.IntType(32), 0)
    )
    size = builder.extract_element(call_intrinsic(builder, "llvm.fabs", single), ir.Constant(ir.IntType(32), 0))
    return make_dual(builder, size, moved)
