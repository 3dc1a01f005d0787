"""Choosing between values without branches, for scalars and lanes alike."""

from __future__ import annotations

from numba.core import types

from .language import device, overloaded


def where(c, a, b):
    """a where c holds, else b. Both are computed: guard divisors inside, not results outside."""
    return a if c else b


def anyl(c):
    """Whether c holds for some lane; for a scalar, c itself. The only lane condition an ``if`` may test."""
    return c


def notl(c):
    """Logical not, lane by lane."""
    return not c


@overloaded(where)
def _scalar_where(c, a, b):
    if isinstance(c, types.Boolean) and isinstance(a, types.Number | types.Boolean):
        return where
    return None


@overloaded(anyl)
def _scalar_anyl(c):
    if isinstance(c, types.Boolean):
        return anyl
    return None


@overloaded(notl)
def _scalar_notl(c):
    if isinstance(c, types.Boolean):
        return notl
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
