"""Gradients against wide differences: does the adjoint say what a change of a few per cent does?

An adjoint may be exact and yet useless: through several impacts a force that jumps at touch, or a motion that is
chaotic, makes the exact derivative that of a much smaller neighbourhood than any step of an optimiser.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

__all__ = ["COSINE", "RATIO", "WIDTH", "WideComparison", "compare_wide"]

#: Below this cosine between the adjoint and wide differences a gradient is of little use to an optimiser ...
COSINE = 0.9
#: ... and so it is when it is longer or shorter than they are by more than this factor.
RATIO = 2.0
#: How wide differences are, as part of each value.
WIDTH = 0.02


@dataclass(frozen=True)
class WideComparison:
    """What each input does to a value per relative change, by the adjoint and by differences over +-``width``."""

    names: tuple[str, ...]
    adjoint: tuple[float, ...]
    differences: tuple[float, ...]
    width: float

    @property
    def cosine(self) -> float:
        """Of the angle between the two: 1 when they agree in direction, NaN when one vanishes."""
        lengths = math.hypot(*self.adjoint) * math.hypot(*self.differences)
        inner = sum(a * b for a, b in zip(self.adjoint, self.differences, strict=True))
        return inner / lengths if lengths > 0.0 else math.nan

    @property
    def ratio(self) -> float:
        """Length of the adjoint over that of the differences."""
        length = math.hypot(*self.differences)
        return math.hypot(*self.adjoint) / length if length > 0.0 else math.nan

    def agrees(self, cosine: float = COSINE, ratio: float = RATIO) -> bool:
        """Whether direction and length agree as well as stated."""
        return self.cosine >= cosine and 1.0 / ratio <= self.ratio <= ratio

    def __str__(self) -> str:
        return f"cosine {self.cosine:.3f}, length ratio {self.ratio:.2f} over +-{100.0 * self.width:g} %"


def compare_wide(
    function: Callable[..., Tensor], inputs: Mapping[str, Tensor], *, width: float = WIDTH
) -> WideComparison:
    """The gradient of the scalar ``function(**inputs)`` beside differences in which one input after the other is
    multiplied by 1 + width and by 1 - width."""
    leaves = {name: value.detach().clone().requires_grad_() for name, value in inputs.items()}
    gradients = torch.autograd.grad(function(**leaves), list(leaves.values()), allow_unused=True)
    base = {name: value.detach() for name, value in inputs.items()}
    adjoint, differences = [], []
    for (name, value), gradient in zip(base.items(), gradients, strict=True):
        adjoint.append(0.0 if gradient is None else float((gradient * value).sum()))
        with torch.no_grad():
            ends = [float(function(**{**base, name: value * (1.0 + s * width)})) for s in (1.0, -1.0)]
        differences.append((ends[0] - ends[1]) / (2.0 * width))
    return WideComparison(tuple(base), tuple(adjoint), tuple(differences), width)
