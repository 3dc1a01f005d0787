"""Targets of several cameras: one for each view."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from html import escape

import torch
from torch import Tensor

from diffloom.interfaces import InputError
from diffloom_fitting.targets.target import Target


@dataclass(frozen=True)
class Targets:
    """Targets by the labels of a scene's cameras.

    Args:
        views: Target of each camera; times are those of its video.
    """

    views: Mapping[str, Target]

    def __post_init__(self) -> None:
        if not self.views:
            raise InputError("targets: got none; expected one for each camera of the scene, by its label")

    def __len__(self) -> int:
        """Return the number of frames of all views."""
        return sum(len(target) for target in self.views.values())

    @property
    def truth(self) -> Mapping[str, Tensor]:
        """True values, if they are known in any view."""
        return {name: value for target in self.views.values() for name, value in target.truth.items()}

    @property
    def source(self) -> str:
        """Origin of the videos, for users."""
        return ", ".join(dict.fromkeys(target.source for target in self.views.values()))

    @property
    def goal(self) -> bool:
        """True if any target is a goal."""
        return any(target.goal for target in self.views.values())

    def _repr_html_(self) -> str:
        from diffloom_fitting.kinds import format_html

        return "".join(f"<h4>{escape(label)}</h4>{format_html('target', one)}" for label, one in self.views.items())

    def by_view(self) -> Mapping[str, Target]:
        """Return the targets by label.

        Returns:
            Targets by label.
        """
        return self.views

    def until(self, part: float) -> Targets:
        """Return the first part of each view.

        Args:
            part: Part (0..1] of each view's time span; at least two frames are kept.

        Returns:
            The targets.
        """
        return Targets({label: target.until(part) for label, target in self.views.items()})

    def to(self, dtype: torch.dtype) -> Targets:
        """Convert to another precision; times stay in double.

        Args:
            dtype: Precision.

        Returns:
            The targets.
        """
        return Targets({label: target.to(dtype) for label, target in self.views.items()})


AnyTarget = Target | Targets


def as_targets(given: AnyTarget | Mapping[str, Target]) -> AnyTarget:
    """Return a mapping of targets as ``Targets``."""
    return given if isinstance(given, Target | Targets) else Targets(dict(given))


def with_truth(target: AnyTarget, truth: Mapping[str, Tensor]) -> AnyTarget:
    """Return targets with other true values.

    Args:
        target: The target, or several.
        truth: True values by name.

    Returns:
        The copy.
    """
    if isinstance(target, Target):
        return replace(target, truth=truth)
    return Targets({label: replace(one, truth=truth) for label, one in target.views.items()})
