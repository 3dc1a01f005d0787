"""Vectors of three scalars or three lanes, as tuples, which live in registers on every target."""

from __future__ import annotations

from ..functions import fma, sqrt, where
from ..language import device


@device
def add3(a, b):
    """a + b."""
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


@device
def sub3(a, b):
    """a - b."""
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])


@device
def neg3(a):
    """-a."""
    return (-a[0], -a[1], -a[2])


@device
def mul3(a, s):
    """a s, with s a scalar."""
    return (a[0] * s, a[1] * s, a[2] * s)


@device
def had3(a, b):
    """a * b, component by component (Hadamard product)."""
    return (a[0] * b[0], a[1] * b[1], a[2] * b[2])


@device
def fma3(a, s, b):
    """a s + b, with s a scalar."""
    return (fma(a[0], s, b[0]), fma(a[1], s, b[1]), fma(a[2], s, b[2]))


@device
def dot3(a, b):
    """a . b."""
    return fma(a[2], b[2], fma(a[1], b[1], a[0] * b[0]))


@device
def cross3(a, b):
    """a x b."""
    return (
        fma(a[1], b[2], -(a[2] * b[1])),
        fma(a[2], b[0], -(a[0] * b[2])),
        fma(a[0], b[1], -(a[1] * b[0])),
    )


@device
def length3(a):
    """|a|."""
    return sqrt(dot3(a, a))


@device
def where3(c, a, b):
    """a where c holds, else b; both are computed."""
    return (where(c, a[0], b[0]), where(c, a[1], b[1]), where(c, a[2], b[2]))


@device
def outer3(a, b):
    """a b^T as a 3x3 matrix."""
    return (
        a[0] * b[0], a[0] * b[1], a[0] * b[2],
        a[1] * b[0], a[1] * b[1], a[1] * b[2],
        a[2] * b[0], a[2] * b[1], a[2] * b[2],
    )  # fmt: skip
