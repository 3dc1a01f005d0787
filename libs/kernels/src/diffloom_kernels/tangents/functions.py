"""Elementary functions of dual numbers."""

from __future__ import annotations

from numba.core import types
from numba.extending import intrinsic

from .. import functions as plain
from ..language import overloaded
from ..simd.types import broadcast
from .arithmetic import common_dual
from .types import Dual, make_dual, parts_of


@intrinsic
def value_of(typingctx, x):
    """Emit the value of a dual number."""

    def codegen(context, builder, sig, args):
        return builder.extract_value(args[0], 0)

    return (types.float64(x), codegen) if isinstance(x, Dual) else None


@intrinsic
def chain(typingctx, x, value, slope):
    """Emit the dual number of a function of x: its value, and its slope times the tangents of x."""

    def codegen(context, builder, sig, args):
        _, tangents = parts_of(builder, args[0])
        moved = builder.fmul(tangents, broadcast(builder, args[2], tangents.type.count))
        return make_dual(builder, args[1], moved)

    return (x(x, types.float64, types.float64), codegen) if isinstance(x, Dual) else None


def _sqrt(x):
    """sqrt, whose slope at zero is taken as zero, as by derived adjoints."""
    r = plain.sqrt(value_of(x))
    return chain(x, r, 0.5 / r if r > 0.0 else 0.0)


def _exp(x):
    """exp."""
    r = plain.exp(value_of(x))
    return chain(x, r, r)


def _log(x):
    """log."""
    v = value_of(x)
    return chain(x, plain.log(v), 1.0 / v)


def _sin(x):
    """sin."""
    v = value_of(x)
    return chain(x, plain.sin(v), plain.cos(v))


def _cos(x):
    """cos."""
    v = value_of(x)
    return chain(x, plain.cos(v), -plain.sin(v))


for _function, _rule in ((plain.sqrt, _sqrt), (plain.exp, _exp), (plain.log, _log), (plain.sin, _sin),
                         (plain.cos, _cos)):  # fmt: skip

    def _overload(function, rule):
        overloaded(function, target="cpu")(lambda x: rule if isinstance(x, Dual) else None)

    _overload(_function, _rule)


@overloaded(plain.floor, target="cpu")
def _floor(x):
    """Overload ``floor``: its derivative is zero, so its result is a float."""
    return (lambda x: plain.floor(value_of(x))) if isinstance(x, Dual) else None


@overloaded(plain.constant, target="cpu")
def _constant(x, value):
    """Overload ``constant``: a float, which has no tangents."""
    return (lambda x, value: types.float64(value)) if isinstance(x, Dual) else None


@overloaded(plain.reciprocal, target="cpu")
def _reciprocal(x):
    """Overload ``reciprocal``."""
    return (lambda x: 1.0 / x) if isinstance(x, Dual) else None


@overloaded(plain.absolute, target="cpu")
def _absolute(x):
    """Overload ``absolute``."""
    return (lambda x: abs(x)) if isinstance(x, Dual) else None


@overloaded(plain.fma, target="cpu")
def _fma(a, b, c):
    """Overload ``fma`` where an argument is dual."""
    return (lambda a, b, c: a * b + c) if common_dual(a, b, c) else None


@overloaded(plain.where, target="cpu")
def _where(c, a, b):
    """Overload ``where`` for a scalar condition and a dual value."""
    return plain.where if isinstance(c, types.Boolean) and common_dual(a, b) else None


@overloaded(plain.atan2, target="cpu")
def _atan2(y, x):
    """Overload ``atan2``, whose tangent is (x dy - y dx) / (x^2 + y^2)."""
    if not common_dual(y, x):
        return None
    if isinstance(y, Dual) and isinstance(x, Dual):

        def both(y, x):
            a, b = value_of(y), value_of(x)
            angle, size = plain.atan2(a, b), a * a + b * b
            return chain(y, angle, b / size) + chain(x, 0.0, -a / size)

        return both
    if isinstance(y, Dual):

        def first(y, x):
            a = value_of(y)
            return chain(y, plain.atan2(a, x), x / (a * a + x * x))

        return first

    def second(y, x):
        b = value_of(x)
        return chain(x, plain.atan2(y, b), -y / (y * y + b * b))

    return second


@overloaded(int, target="cpu")
def _int(x):
    """Overload ``int``."""
    return (lambda x: int(value_of(x))) if isinstance(x, Dual) else None
