"""Elementary functions, and choices without branches, that keep the type of their argument on every target.

The plain functions below run in the simulator and when compilation is disabled; compiled code uses the overloads.
``math.sqrt`` and friends would turn a float32 into a Python float there, so kernels import from here.
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
    """Square root."""
    return np.sqrt(x)


def exp(x):
    """e to the power x."""
    return type(x)(math.exp(x))


def log(x):
    """Natural logarithm."""
    return type(x)(math.log(x))


def atan2(y, x):
    """Angle of the point (x, y), in radians from -pi to pi."""
    return type(x)(math.atan2(y, x))


def floor(x):
    """Largest whole number not above x, in the type of x."""
    return np.floor(x)


def absolute(x):
    """|x|."""
    return abs(x)


def fma(a, b, c):
    """a b + c, rounded once where the processor can, and then for scalars and lanes alike.

    Kernels say where products and sums are to be joined. Were it left to the compiler, it would join them one way for
    scalars and another for lanes, and their results would part in the last bit. As plain Python the C library does it.
    """
    joined = _joined().get(type(c))
    return a * b + c if joined is None else type(c)(joined(a, b, c))


@functools.cache
def _joined():
    """The C library's functions that round once, by float type, where compiled code does so too."""
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
    """``value`` in the type of x: a float literal that does not widen float32."""
    return type(x)(value)


def reciprocal(x):
    """1 / x in the type of x."""
    return type(x)(1) / x


def _overload_unary(function, compiled):
    @overloaded(function)
    def scalar(x):
        if isinstance(x, types.Float):
            return lambda x: compiled(x)
        return None


for _name, _compiled in _UNARY.items():
    _overload_unary(globals()[_name], _compiled)


@overloaded(atan2)
def _scalar_atan2(y, x):
    if isinstance(y, types.Float) and isinstance(x, types.Float):
        return lambda y, x: math.atan2(y, x)
    return None


@overloaded(floor)
def _scalar_floor(x):
    if isinstance(x, types.Float):
        kind = x
        return lambda x: kind(math.floor(x))
    return None


# numba-cuda has no np.floor; the CPU keeps it, since it also answers for nan and infinity.
@overloaded(floor, target="cpu")
def _cpu_floor(x):
    return (lambda x: np.floor(x)) if isinstance(x, types.Float) else None


@overloaded(absolute)
def _scalar_absolute(x):
    if isinstance(x, types.Number):
        return lambda x: abs(x)
    return None


@overloaded(fma)
def _scalar_fma(a, b, c):
    return (lambda a, b, c: a * b + c) if all(isinstance(kind, types.Number) for kind in (a, b, c)) else None


@intrinsic
def _fused(typingctx, a, b, c):
    def codegen(context, builder, sig, args):
        name = f"llvm.fmuladd.f{a.bitwidth}"
        kind = ir.FunctionType(args[0].type, [args[0].type] * 3)
        return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), args)

    return a(a, b, c), codegen


# On CUDA the compiler joins a product and a sum by itself.
@overloaded(fma, target="cpu")
def _cpu_fma(a, b, c):
    return (lambda a, b, c: _fused(a, b, c)) if isinstance(a, types.Float) and a == b == c else None


@overloaded(constant)
def _scalar_constant(x, value):
    if isinstance(x, types.Float):
        kind = x
        return lambda x, value: kind(value)
    return None


@overloaded(reciprocal)
def _scalar_reciprocal(x):
    if isinstance(x, types.Float):
        kind = x
        return lambda x: kind(1.0) / x
    return None


def where(c, a, b):
    """a where c holds, else b. Both are computed: guard divisors inside, not results outside."""
    return a if c else b


def any_lane(c):
    """Whether c holds for some lane; for a scalar, c itself. The only lane condition an ``if`` may test."""
    return c


def not_lanes(c):
    """Logical not, lane by lane."""
    return not c


@overloaded(where)
def _scalar_where(c, a, b):
    if isinstance(c, types.Boolean) and isinstance(a, types.Number | types.Boolean):
        return where
    return None


@overloaded(any_lane)
def _scalar_anyl(c):
    if isinstance(c, types.Boolean):
        return any_lane
    return None


@overloaded(not_lanes)
def _scalar_notl(c):
    if isinstance(c, types.Boolean):
        return not_lanes
    return None


@device
def minimum(a, b):
    """The smaller of a and b; a when either is nan."""
    return where(b < a, b, a)


@device
def maximum(a, b):
    """The larger of a and b; a when either is nan."""
    return where(b > a, b, a)


@device
def clamp(x, low, high):
    """x limited to [low, high]."""
    return minimum(maximum(x, low), high)


# Sines and cosines are those of the processor, and on CUDA float32 ones of ours. NVIDIA's own reduce large angles in
# float64, which GPUs are slow at; its quick ones miss the sine of any angle by up to 5e-7, which may be a thousandth of
# how far a body turns in a step. These miss it by 1e-7, and by 1.6e-7 of itself.


def sin(x):
    """Sine of an angle in radians."""
    return type(x)(math.sin(x))


def cos(x):
    """Cosine of an angle in radians."""
    return type(x)(math.cos(x))


@device
def turned_sine(x, quarters):
    """sin(x + quarters pi / 2) in float32.

    pi / 2 is taken off in three parts that float32 holds; what is left, r in [-pi / 4, pi / 4], goes into polynomials
    of least greatest error.
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
