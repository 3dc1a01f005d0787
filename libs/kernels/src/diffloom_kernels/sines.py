"""Sines and cosines: those of the processor as they are, and float32 ones for CUDA.

NVIDIA's own reduce large angles in float64, which GPUs are slow at; its quick ones miss the sine of any angle by up to
5e-7, which may be a thousandth of how far a body turns in a step. These miss it by 1e-7, and by 1.6e-7 of itself.
"""

from __future__ import annotations

import math

from numba.core import types

from .functions import constant, floor, fma
from .language import device, overloaded
from .selection import where


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


def _overload(function, compiled, quarters):
    @overloaded(function)
    def scalar(x):
        if x == types.float32:
            return lambda x: turned_sine(x, quarters)
        return (lambda x: compiled(x)) if isinstance(x, types.Float) else None

    @overloaded(function, target="cpu")
    def of_the_processor(x):
        return (lambda x: compiled(x)) if isinstance(x, types.Float) else None


_overload(sin, math.sin, 0)
_overload(cos, math.cos, 1)
