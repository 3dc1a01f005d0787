"""What an open-loop policy is told of the time, besides sines: the basis of a smooth curve through knots."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from diffloom.interfaces import InputError


@dataclass(frozen=True)
class Splines:
    """``knots`` cubic B-splines, evenly over ``span`` [s]: a linear layer without bias makes a smooth curve of them,
    whose weights are the curve's control points. Each matters for about four knots' time and nowhere else."""

    knots: int = 8
    span: float = 1.0

    def __post_init__(self) -> None:
        if self.knots < 4 or not self.span > 0.0:
            raise InputError(
                f"Splines: got {self.knots} knots over {self.span:g} s; expected 4 or more, over more than 0"
            )

    def __call__(self, times: Tensor) -> Tensor:
        """(steps, knots) of times (steps,) [s]; each row sums to 1."""
        # Cells between the inner knots; the curve begins one cell after the first B-spline's middle.
        place = (times / self.span).clamp(0.0, 1.0) * (self.knots - 3)
        away = (place[:, None] - torch.arange(-1, self.knots - 1, dtype=times.dtype)).abs()
        near = 2.0 / 3.0 - away.square() + 0.5 * away**3
        far = (2.0 - away).clamp(min=0.0) ** 3 / 6.0
        return torch.where(away < 1.0, near, far)
