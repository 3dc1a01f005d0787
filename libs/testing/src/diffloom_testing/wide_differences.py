"""Gradients against wide differences: does the adjoint predict the effect of a change of a few per cent?

An exact adjoint may be useless: through impacts with a jump of force, or in chaotic motion, the exact derivative holds
in a neighbourhood much smaller than any step of an optimiser.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

__all__ = ["COSINE", "RATIO", "WIDTH", "WideComparison", "compare_wide"]

#: Smallest cosine between adjoint and wide differences at which a gradient still helps an optimiser.
COSINE = 0.9
#: Largest factor between the lengths of adjoint and wide differences at which it does.
RATIO = 2.0
#: Relative half-width of the differences.
WIDTH = 0.02


@dataclass(frozen=True)
class WideComparison:
    """Effect of each input on a value per relative change, by the adjoint and by wide differences.

    Args:
        names: Names of the inputs.
        adjoint: Derivative of the value by the logarithm of each input.
        differences: The same from central differences over +-``width``.
        width: Relative half-width of the differences.
    """

    names: tuple[str, ...]
    adjoint: tuple[float, ...]
    differences: tuple[float, ...]
    width: float

    @property
    def cosine(self) -> float:
        """Cosine of the angle between adjoint and differences: 1 for the same direction, NaN if one vanishes."""
        lengths = math.hypot(*self.adjoint) * math.hypot(*self.differences)
        inner = sum(a * b for a, b in zip(self.adjoint, self.differences, strict=True))
        return inner / lengths if lengths > 0.0 else math.nan

    @property
    def ratio(self) -> float:
        """Length of the adjoint divided by that of the differences."""
        length = math.hypot(*self.differences)
        return math.hypot(*self.adjoint) / length if length > 0.0 else math.nan

    def agrees(self, cosine: float = COSINE, ratio: float = RATIO) -> bool:
        """Return True if direction and length agree.

        Args:
            cosine: Smallest cosine.
            ratio: Largest factor between the lengths, either way.

        Returns:
            True if both bounds hold.
        """
        return self.cosine >= cosine and 1.0 / ratio <= self.ratio <= ratio

    def __str__(self) -> str:
        return f"cosine {self.cosine:.3f}, length ratio {self.ratio:.2f} over +-{100.0 * self.width:g} %"


def compare_wide(
    function: Callable[..., Tensor], inputs: Mapping[str, Tensor], *, width: float = WIDTH
) -> WideComparison:
    """Compare the gradient of a scalar with differences in which one input after the other is scaled by 1 +- width.

    Args:
        function: Function of the inputs that returns a scalar.
        inputs: Tensors at which the gradient is taken.
        width: Relative half-width of the differences.

    Returns:
        Both derivatives for each input.
    """
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
