"""Costs of a control: its effort and its rate of change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from diffloom.fixed_order import ordered_mean
from diffloom_fitting.validation import check_real


@dataclass(frozen=True)
class ControlCosts:
    """Costs of controls, added to the loss.

    Args:
        effort: Weight of the mean square of all controls.
        smoothness: Weight of the mean square of their rate of change [1/s].
    """

    effort: float = 0.0
    smoothness: float = 0.0

    def __post_init__(self) -> None:
        for name in ("effort", "smoothness"):
            object.__setattr__(self, name, check_real(f"control.{name}", getattr(self, name), least=0.0))

    def value(self, control: Mapping[str, Tensor], dt: float) -> Tensor:
        """Return the cost of controls.

        Args:
            control: Controls (steps, ...) by name.
            dt: Time step [s].

        Returns:
            A scalar.
        """
        parts = []
        for rows in control.values():
            if self.effort > 0.0:
                parts.append(self.effort * mean_effort(rows))
            if self.smoothness > 0.0 and len(rows) > 1:
                parts.append(self.smoothness * ordered_mean((rows.diff(dim=0) / dt).square()))
        return torch.stack(parts).sum() if parts else torch.zeros(())


def mean_effort(rows: Tensor) -> Tensor:
    """Return the mean square of a control (steps, ...)."""
    return ordered_mean(rows.square())
