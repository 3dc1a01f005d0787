"""What several cameras saw: a target for each view."""

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
    """Targets by the labels of a scene's cameras; times are those of each video. What is known of the truth may stand
    in any of them."""

    views: Mapping[str, Target]

    def __post_init__(self) -> None:
        if not self.views:
            raise InputError("targets: got none; expected one for each camera of the scene, by its label")

    def __len__(self) -> int:
        """Frames of all views."""
        return sum(len(target) for target in self.views.values())

    @property
    def truth(self) -> Mapping[str, Tensor]:
        """True values where they are known."""
        return {name: value for target in self.views.values() for name, value in target.truth.items()}

    @property
    def source(self) -> str:
        """Where they came from, for people."""
        return ", ".join(dict.fromkeys(target.source for target in self.views.values()))

    @property
    def goal(self) -> bool:
        """Whether any of them shows what is wanted."""
        return any(target.goal for target in self.views.values())

    def _repr_html_(self) -> str:
        from diffloom_fitting.kinds import format_html

        return "".join(f"<h4>{escape(label)}</h4>{format_html('target', one)}" for label, one in self.views.items())

    def by_view(self) -> Mapping[str, Target]:
        """Targets by label."""
        return self.views

    def until(self, part: float) -> Targets:
        """Only the first ``part`` (0..1] of each view's time span, at least two frames of each."""
        return Targets({label: target.until(part) for label, target in self.views.items()})

    def to(self, dtype: torch.dtype) -> Targets:
        """The same in another precision; times stay in double."""
        return Targets({label: target.to(dtype) for label, target in self.views.items()})


AnyTarget = Target | Targets


def as_targets(given: AnyTarget | Mapping[str, Target]) -> AnyTarget:
    """A mapping of targets as ``Targets``."""
    return given if isinstance(given, Target | Targets) else Targets(dict(given))


def with_truth(target: AnyTarget, truth: Mapping[str, Tensor]) -> AnyTarget:
    """The same, judged by other true values."""
    if isinstance(target, Target):
        return replace(target, truth=truth)
    return Targets({label: replace(one, truth=truth) for label, one in target.views.items()})
