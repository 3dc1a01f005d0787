"""Derivatives of elementary functions, as source text.

A rule takes the writer, the cotangent ``a`` and the result ``r`` of an operation and its operands, all as names, and
returns a cotangent for each operand: None for an operand without derivative. ``w.zero`` and ``w.one`` are numbers of
the float type in use, and ``w(function)`` is the name of a function.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import functions as f

Rule = Callable[..., list[str | None]]


def _sqrt(w: Any, a: str, r: str, x: str) -> list[str | None]:
    """a / (2 r); a where r = 0, so that the length of a zero vector has the derivative 0."""
    return [f"{a} / {w(f.where)}({r} > {w.zero}, {r} + {r}, {w.one})"]


def _divide(w: Any, a: str, r: str, x: str, y: str) -> list[str | None]:
    """x / y."""
    share = w.name(f"{a} / {y}", "part")
    return [share, f"-({share} * {r})"]


def _atan2(w: Any, a: str, r: str, y: str, x: str) -> list[str | None]:
    """Angle of (x, y)."""
    share = w.name(f"{a} / ({x} * {x} + {y} * {y})", "part")
    return [f"{share} * {x}", f"-({share} * {y})"]


def _select(w: Any, condition: str, a: str) -> list[str | None]:
    """The cotangents of both values that a condition selects from."""
    where = w(f.where)
    return [f"{where}({condition}, {a}, {w.zero})", f"{where}({condition}, {w.zero}, {a})"]


def _absolute(w: Any, a: str, r: str, x: str) -> list[str | None]:
    """|x|."""
    return [f"{w(f.where)}({x} < {w.zero}, -{a}, {a})"]


#: Rules of operators.
OPERATORS: dict[str, Rule] = {
    "+": lambda w, a, r, x, y: [a, a],
    "-": lambda w, a, r, x, y: [a, f"-{a}"],
    "*": lambda w, a, r, x, y: [f"{a} * {y}", f"{a} * {x}"],
    "/": _divide,
    "neg": lambda w, a, r, x: [f"-{a}"],
}

#: Rules of functions of floats.
FUNCTIONS: dict[Callable[..., Any], Rule] = {
    f.sqrt: _sqrt,
    f.exp: lambda w, a, r, x: [f"{a} * {r}"],
    f.log: lambda w, a, r, x: [f"{a} / {x}"],
    f.sin: lambda w, a, r, x: [f"{a} * {w(f.cos)}({x})"],
    f.cos: lambda w, a, r, x: [f"-({a} * {w(f.sin)}({x}))"],
    f.atan2: _atan2,
    f.absolute: _absolute,
    abs: _absolute,
    f.fma: lambda w, a, r, x, y, z: [f"{a} * {y}", f"{a} * {x}", a],
    f.reciprocal: lambda w, a, r, x: [f"-({a} * {r} * {r})"],
    f.where: lambda w, a, r, c, x, y: [None, *_select(w, c, a)],
    f.maximum: lambda w, a, r, x, y: _select(w, f"{y} > {x}", a)[::-1],
    f.minimum: lambda w, a, r, x, y: _select(w, f"{y} < {x}", a)[::-1],
    f.constant: lambda w, a, r, x, value: [None, None],
    f.floor: lambda w, a, r, x: [None],
}

#: Functions whose result has no derivative.
FLAT = (f.constant, f.floor)
#: Functions whose result is a flag.
FLAGS = (f.any_lane, f.not_lanes)
