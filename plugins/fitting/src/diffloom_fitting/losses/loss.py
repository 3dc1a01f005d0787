"""Interface of losses."""

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
    """A number that is 0 when a view matches a target.

    Implementations are frozen dataclasses, registered by name through the hook ``diffloom_register_losses``; an
    experiment file sets their fields in [loss]. ``expected_failures`` names checks of the conformance suite that cannot
    pass, with reasons.
    """

    expected_failures: ClassVar[Mapping[str, str]] = {}

    def __post_init__(self) -> None:
        check_settings(self)

    @property
    @abstractmethod
    def outputs(self) -> tuple[str, ...]:
        """Outputs to render, such as ("rgba",); empty if the states are enough."""

    @abstractmethod
    def residuals(self, view: View, target: Target) -> Tensor | None:
        """Return the differences whose mean square is the loss.

        Gauss-Newton and the uncertainty need them. If they are images, (frames, height, width) with or without
        channels, the uncertainty measures how neighbours are correlated.

        Args:
            view: View of the scene.
            target: The target.

        Returns:
            The differences; None if the loss is not a mean of squares.
        """

    def numbers(self, target: Target) -> int:
        """Return the number of compared numbers, against which a prior is weighed.

        Args:
            target: The target.

        Returns:
            The number.
        """
        for shown in (target.frames, target.masks, target.q):
            if shown is not None:
                return shown.numel()
        return 1

    def value(self, view: View, target: Target) -> Tensor:
        """Return the loss.

        Args:
            view: View of the scene.
            target: The target.

        Returns:
            A scalar, differentiable with respect to the view.
        """
        residuals = self.residuals(view, target)
        if residuals is None:
            raise NotImplementedError(f"{type(self).__name__} must define value() or residuals()")
        return ordered_mean(residuals.square())
