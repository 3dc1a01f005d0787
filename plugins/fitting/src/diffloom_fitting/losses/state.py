"""State error: compares states instead of pixels, as a baseline."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from diffloom.interfaces import InputError
from diffloom_fitting.losses.loss import Loss
from diffloom_fitting.scene import View
from diffloom_fitting.targets import Target


@dataclass(frozen=True)
class StateError(Loss):
    """Mean squared difference of q over frames, nodes and coordinates: positions [m], and orientations of bodies.

    Nothing is rendered. Only a synthesised target has states.
    """

    @property
    def outputs(self) -> tuple[str, ...]:
        return ()

    def residuals(self, view: View, target: Target) -> Tensor:
        if target.q is None:
            raise InputError("loss 'state' compares states, and a video has none; synthesise the target or use 'mse'")
        return view.q - target.q
