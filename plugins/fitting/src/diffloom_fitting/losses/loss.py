"""The interface of a loss."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar

from torch import Tensor

from diffloom.fixed_order import ordered_mean
from diffloom.validation import check_settings
from diffloom_fitting.scene import View
from diffloom_fitting.targets import Target


class Loss(ABC):
    """A number that is 0 when a view matches a target. Implementations are frozen dataclasses, registered by name
    through the hook ``diffloom_register_losses``; their fields can be set in an experiment's [loss] table.

    expected_failures: checks of the conformance suite that cannot pass, each with its reason.
    """

    expected_failures: ClassVar[Mapping[str, str]] = {}

    def __post_init__(self) -> None:
        check_settings(self)

    @property
    @abstractmethod
    def outputs(self) -> tuple[str, ...]:
        """What must be rendered, such as ("rgba",); empty when the states are enough."""

    @abstractmethod
    def residuals(self, view: View, target: Target) -> Tensor | None:
        """Differences whose mean square is the loss; None when the loss is not a mean of squares.

        Gauss-Newton and the uncertainty of what was found need them. Given as images, (frames, height, width) with or
        without channels, the uncertainty knows which of them are neighbours, and how they err together.
        """

    def numbers(self, target: Target) -> int:
        """How many numbers of a target it compares: what a prior is weighed against."""
        for shown in (target.frames, target.masks, target.q):
            if shown is not None:
                return shown.numel()
        return 1

    def value(self, view: View, target: Target) -> Tensor:
        """The loss, a scalar, differentiable with respect to the view."""
        residuals = self.residuals(view, target)
        if residuals is None:
            raise NotImplementedError(f"{type(self).__name__} must define value() or residuals()")
        return ordered_mean(residuals.square())
