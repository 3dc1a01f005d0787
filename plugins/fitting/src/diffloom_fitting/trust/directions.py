"""Directions in the searched space: which unknowns, and which combinations of them, the pixels determine."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import torch
from torch import Tensor

from diffloom_fitting.unknowns import UnknownLayout
from diffloom_fitting.unknowns.spaces import Log

SINGULAR = 1e-6  # singular values below this share of a slope's length are rounding in double precision
SAFETY = 3.0  # singular values below this multiple of the slopes' own rounding are rounding
JUMPS = {torch.float64: 1e-3, torch.float32: 0.1}  # a larger share of a slope is a jump of pixels, not rounding
TOUCHED = 0.02  # components below this share of the largest one count as zero
TAKES_PART = 0.2  # components below this share of the largest one are not named


@dataclass(frozen=True)
class Directions:
    """The searched space, split into directions, in coordinates scaled by the size of the slopes.

    Args:
        kept: (n, k) columns that are determined.
        lost: (n, n - k) columns that are not, each of unit length in natural changes.
    """

    kept: Tensor
    lost: Tensor


def split(curvature: Tensor, visible: Tensor, rounding: Tensor) -> Directions:
    """Split the eigenvectors of the scaled ``curvature`` (n, n) by the size of their singular value.

    Args:
        curvature: (n, n), scaled to a unit diagonal.
        visible: (n,), entries that the residuals depend on.
        rounding: (n,), share of each slope that is rounding.

    Returns:
        The directions whose singular value is more than rounding, and the rest.
    """
    values, vectors = torch.linalg.eigh(curvature.double())
    known = rounding[visible & rounding.isfinite()]
    noise = min(float(known.max()), JUMPS[curvature.dtype]) if len(known) else 0.0
    least = max(SINGULAR, SAFETY * noise) ** 2
    top = float(values.max().clamp(min=0.0))
    good = values > least * max(1.0, top) if top > 0.0 else torch.zeros_like(values, dtype=torch.bool)
    return Directions(vectors[:, good].to(curvature.dtype), vectors[:, ~good].to(curvature.dtype))


def weak(covariance: Tensor, most: float) -> Tensor:
    """Return the eigenvectors (n, k) of a covariance in natural changes whose deviation is above ``most``."""
    values, vectors = torch.linalg.eigh(covariance.double().nan_to_num(0.0, 1e30, -1e30).clamp(-1e30, 1e30))
    found: Tensor = vectors[:, values > most * most].to(covariance.dtype)
    return found


def reduce_to_echelon(ways: Tensor, blind: Tensor) -> list[Tensor]:
    """Return a basis of the rows of ``ways`` (k, n) in reduced echelon form: each vector has an entry of its own.

    Args:
        ways: (k, n), directions.
        blind: (n,), entries that are reported already; directions that move only these are left out.
    """
    rows = ways.double().clone()
    found: list[Tensor] = []
    rows[:, blind] = 0.0
    for _ in range(len(rows)):
        flat = int(rows.abs().argmax())
        row, column = divmod(flat, rows.shape[1])
        if float(rows[row, column].abs()) < 1e-6:
            break
        pivot = rows[row] / rows[row, column]
        rows = rows - torch.outer(rows[:, column], pivot)
        found = [way - way[column] * pivot for way in found] + [pivot]
    return [(way / way.norm()).to(ways.dtype) for way in found]


def find_touched(direction: Tensor) -> list[int]:
    """Return the entries that a direction moves."""
    size = direction.abs()
    return [i for i in range(len(size)) if float(size[i]) > TOUCHED * float(size.max())]


def find_involved(direction: Tensor) -> list[int]:
    """Return the entries that a direction moves by enough to be named."""
    size = direction.abs()
    return [i for i in range(len(size)) if float(size[i]) > TAKES_PART * float(size.max())]


def describe(layout: UnknownLayout, direction: Tensor) -> str:
    """Describe in words a direction (n,), in natural changes, along which the images stay the same."""
    labels = layout.labels()
    entries = find_involved(direction)
    names = [labels[i] for i in entries]
    if len(entries) == 1:
        return f"{names[0]} is not determined"
    if len(entries) == 2 and all(isinstance(_space(layout, i), Log) for i in entries):
        told = _combination(names, [float(direction[i]) * _space(layout, i).scale for i in entries])  # type: ignore[attr-defined]
        if told is not None:
            return f"only {told} is determined"
    return f"{', '.join(names[:-1])} and {names[-1]} trade off: a change of one is made up for by the rest"


def _combination(names: list[str], direction: list[float]) -> str | None:
    """Return the product of powers that is constant along ``direction`` in log space, if its exponents are small."""
    first, second = names
    # a^p b^q is constant when p d_a + q d_b = 0
    ratio = Fraction(-direction[0] / direction[1]).limit_denominator(4)
    if ratio == 0 or abs(float(ratio) + direction[0] / direction[1]) > 0.05 * abs(float(ratio)):
        return None
    p, q = ratio.denominator, ratio.numerator
    return f"{_power(first, p)} {'x' if q > 0 else '/'} {_power(second, abs(q))}"


def _power(name: str, exponent: int) -> str:
    return name if exponent == 1 else f"{name}^{exponent}"


def _space(layout: UnknownLayout, entry: int) -> object:
    ends = 0
    for slot in layout.slots:
        ends += slot.size
        if entry < ends:
            return slot.space
    raise IndexError(entry)


def in_natural_changes(direction: Tensor, natural: Tensor) -> Tensor:
    """Convert a direction in scaled coordinates to natural changes, of unit length."""
    found = direction / natural
    length = max(float(found.norm()), math.ulp(0.0))
    return found / length
