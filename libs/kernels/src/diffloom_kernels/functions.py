"""Elementary functions and branch-free selection that keep the type of their argument on every target.

The plain functions run in the simulator and in interpreted mode; compiled code uses the overloads. Kernels import from
here because ``math.sqrt`` and the like would turn a float32 into a Python float in interpreted mode.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import functools
import math
import platform

import numpy as np
from llvmlite import binding as llvm, ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from .language import device, overloaded

_UNARY = {"sqrt": math.sqrt, "exp": math.exp, "log": math.log}


def sqrt(x):
    """Return the square root of x.

    Args:
        x: Float or float lanes.
    """
    return np.sqrt(x)


def exp(x):
    """Return e to the power x.

    Args:
        x: Float or float lanes.
    """
    return type(x)(math.exp(x))


def log(x):
    """Return the natural logarithm of x.

    Args:
        x: Float or float lanes.
    """
    return type(x)(math.log(x))


def atan2(y, x):
    """Return the angle of the point (x, y) [rad], from -pi to pi.

    Args:
        y: Second coordinate, a float or float lanes.
        x: First coordinate, of the same type.
    """
    return type(x)(math.atan2(y, x))


def floor(x):
    """Return the largest integer not above x, in the type of x.

    Args:
        x: Float or float lanes.
    """
    return np.floor(x)


def absolute(x):
    """Return |x|.

    Args:
        x: Float or float lanes.
    """
    return abs(x)


def fma(a, b, c):
    """Return a b + c, rounded once if the processor has a fused multiply-add.

    Kernels name their fused operations, because a compiler that contracts expressions does so differently for scalars
    and for lanes, and the last bits would differ. Interpreted code calls the C library's function.

    Args:
        a: Float or float lanes.
        b: Factor of the same type.
        c: Summand of the same type.
    """
    joined = _load_fused_functions().get(type(c))
    return a * b + c if joined is None else type(c)(joined(a, b, c))


@functools.cache
def _load_fused_functions():
    """Return the fused multiply-add functions of the C library by float type; empty if the processor lacks the
    instruction.
    """
    features = llvm.get_host_cpu_features()
    if not features.get("fma", platform.machine() in ("aarch64", "arm64")):
        return {}
    library = ctypes.CDLL(ctypes.util.find_library("m"))
    found = {}
    for name, kind, real in (("fma", ctypes.c_double, np.float64), ("fmaf", ctypes.c_float, np.float32)):
        found[real] = getattr(library, name)
        found[real].restype, found[real].argtypes = kind, [kind] * 3
    return found


def constant(x, value):
    """Return ``value`` in the type of x: a float literal that does not widen float32.

    Args:
        x: Float or float lanes.
        value: Number.

    Returns:
        ``value`` with the dtype of x.
    """
    return type(x)(value)


def reciprocal(x):
    """Return 1 / x in the type of x.

    Args:
        x: Float or float lanes.
    """
    return type(x)(1) / x


def _overload_unary(function, compiled):
    """Overload a unary function for scalar floats by its counterpart in ``math``."""
    @overloaded(function)
    def scalar(x):
        if isinstance(x, types.Float):
            return lambda x: compiled(x)
        return None


for _name, _compiled in _UNARY.items():
    _overload_unary(globals()[_name], _compiled)


@overloaded(atan2)
def _scalar_atan2(y, x):
    """Overload ``atan2`` for scalar floats."""
    if isinstance(y, types.Float) and isinstance(x, types.Float):
        return lambda y, x: math.atan2(y, x)
    return None


@overloaded(floor)
def _scalar_floor(x):
    """Overload ``floor`` for scalar floats on every target."""
    if isinstance(x, types.Float):
        kind = x
        return lambda x: kind(math.floor(x))
    return None


# numba-cuda has no np.floor. The CPU uses it because it also handles nan and infinity.
@overloaded(floor, target="cpu")
def _cpu_floor(x):
    """Overload ``floor`` on the CPU by ``np.floor``."""
    return (lambda x: np.floor(x)) if isinstance(x, types.Float) else None


@overloaded(absolute)
def _scalar_absolute(x):
    """Overload ``absolute`` for scalar numbers."""
    if isinstance(x, types.Number):
        return lambda x: abs(x)
    return None


@overloaded(fma)
def _scalar_fma(a, b, c):
    """Overload ``fma`` for scalars on every target by a product and a sum."""
    return (lambda a, b, c: a * b + c) if all(isinstance(kind, types.Number) for kind in (a, b, c)) else None


@intrinsic
def _fused(typingctx, a, b, c):
    """Emit LLVM's ``llvm.fmuladd``."""
    def codegen(context, builder, sig, args):
        name = f"llvm.fmuladd.f{a.bitwidth}"
        kind = ir.FunctionType(args[0].type, [args[0].type] * 3)
        return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), args)

    return a(a, b, c), codegen


# The CUDA compilers contract a product and a sum without being asked.
@overloaded(fma, target="cpu")
def _cpu_fma(a, b, c):
    """Overload ``fma`` on the CPU by ``llvm.fmuladd`` if all three are of one float type."""
    return (lambda a, b, c: _fused(a, b, c)) if isinstance(a, types.Float) and a == b == c else None


@overloaded(constant)
def _scalar_constant(x, value):
    """Overload ``constant`` for scalar floats."""
    if isinstance(x, types.Float):
        kind = x
        return lambda x, value: kind(value)
    return None


@overloaded(reciprocal)
def _scalar_reciprocal(x):
    """Overload ``reciprocal`` for scalar floats."""
    if isinstance(x, types.Float):
        kind = x
        return lambda x: kind(1.0) / x
    return None


def where(c, a, b):
    """Return a if c holds, else b, lane by lane.

    Both are computed: guard divisors inside (``a / where(x > zero, x, one)``), not the result.

    Args:
        c: Condition, a boolean or mask lanes.
        a: Value where c holds.
        b: Value elsewhere, of the same type.

    Returns:
        The selected value.
    """
    return a if c else b


def any_lane(c):
    """Return True if c holds for some lane; for a scalar, c itself.

    An ``if`` on data may test nothing else under lanes.

    Args:
        c: Boolean or mask lanes.
    """
    return c


def not_lanes(c):
    """Return the logical negation of c, lane by lane.

    Args:
        c: Boolean or mask lanes.
    """
    return not c


@overloaded(where)
def _scalar_where(c, a, b):
    """Overload ``where`` for a scalar condition."""
    if isinstance(c, types.Boolean) and isinstance(a, types.Number | types.Boolean):
        return where
    return None


@overloaded(any_lane)
def _scalar_any_lane(c):
    """Overload ``any_lane`` for a scalar condition."""
    if isinstance(c, types.Boolean):
        return any_lane
    return None


@overloaded(not_lanes)
def _scalar_not_lanes(c):
    """Overload ``not_lanes`` for a scalar condition."""
    if isinstance(c, types.Boolean):
        return not_lanes
    return None


@device
def minimum(a, b):
    """Return the smaller of a and b; a if either is nan."""
    return where(b < a, b, a)


@device
def maximum(a, b):
    """Return the larger of a and b; a if either is nan."""
    return where(b > a, b, a)


@device
def clamp(x, low, high):
    """Return x limited to [low, high]."""
    return minimum(maximum(x, low), high)


# Sines and cosines come from the C library on the CPU, and from turned_sine on CUDA in float32: NVIDIA's accurate ones
# reduce large angles in float64, which is slow on GPUs, and its fast ones have an absolute error of up to 5e-7, which
# may be a thousandth of a body's rotation in a step. turned_sine has an absolute error of 1e-7, a relative of 1.6e-7.


def sin(x):
    """Return the sine of x; on CUDA in float32 ``turned_sine``, with an error of at most 1e-7.

    Args:
        x: Angle [rad], a float or float lanes.
    """
    return type(x)(math.sin(x))


def cos(x):
    """Return the cosine of x; on CUDA in float32 ``turned_sine``, with an error of at most 1e-7.

    Args:
        x: Angle [rad], a float or float lanes.
    """
    return type(x)(math.cos(x))


@device
def turned_sine(x, quarters):
    """Return sin(x + quarters pi / 2) in float32.

    Cody-Waite range reduction subtracts k pi / 2 as a sum of three float32 numbers; the remainder r in [-pi / 4, pi /
    4] goes into minimax polynomials.

    Args:
        x: Angle [rad], float32.
        quarters: Number of quarter turns to add.

    Returns:
        The sine, with an error of at most 1e-7.
    """
    k = floor(fma(x, constant(x, 2 / math.pi), constant(x, 0.5)))
    r = fma(-k, constant(x, 1.5707963705062866), x)
    r = fma(-k, constant(x, -4.371138828673793e-08), r)
    r = fma(-k, constant(x, -1.7151245100058819e-15), r)
    s = r * r
    sine = fma(constant(x, -1.951494050445035e-4), s, constant(x, 8.33215843886137e-3))
    sine = fma(r * s, fma(sine, s, constant(x, -0.16666655242443085)), r)
    cosine = fma(constant(x, 2.4438073523924686e-5), s, constant(x, -1.3887364184483886e-3))
    cosine = fma(s * s, fma(cosine, s, constant(x, 0.04166664555668831)), fma(constant(x, -0.5), s, constant(x, 1)))
    turn = int(k) + quarters
    value = where(turn % 2 == 0, sine, cosine)
    return where(turn % 4 < 2, value, -value)


def _overload_turn(function, compiled, quarters):
    """Overload a trigonometric function: on the CPU by ``math``, elsewhere in float32 by ``turned_sine``."""
    @overloaded(function)
    def scalar(x):
        if x == types.float32:
            return lambda x: turned_sine(x, quarters)
        return (lambda x: compiled(x)) if isinstance(x, types.Float) else None

    @overloaded(function, target="cpu")
    def of_the_processor(x):
        return (lambda x: compiled(x)) if isinstance(x, types.Float) else None


_overload_turn(sin, math.sin, 0)
_overload_turn(cos, math.cos, 1)
