"""What a control costs: how hard and how jerkily it works."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from diffloom.fixed_order import ordered_mean
from diffloom_fitting.validation import real


@dataclass(frozen=True)
class ControlCosts:
    """Added to the loss: ``effort`` times the mean square of all controls, and ``smoothness`` times the mean square of
    their rate of change [1/s], over all steps and numbers."""

    effort: float = 0.0
    smoothness: float = 0.0

    def __post_init__(self) -> None:
        for name in ("effort", "smoothness"):
            object.__setattr__(self, name, real(f"control.{name}", getattr(self, name), least=0.0))

    def value(self, control: Mapping[str, Tensor], dt: float) -> Tensor:
        """The cost of controls (steps, ...), steps of ``dt`` [s]; a scalar."""
        parts = []
        for rows in control.values():
            if self.effort > 0.0:
                parts.append(self.effort * mean_effort(rows))
            if self.smoothness > 0.0 and len(rows) > 1:
                parts.append(self.smoothness * ordered_mean((rows.diff(dim=0) / dt).square()))
        return torch.stack(parts).sum() if parts else torch.zeros(())


def mean_effort(rows: Tensor) -> Tensor:
    """The mean square of a control (steps, ...)."""
    return ordered_mean(rows.square())
