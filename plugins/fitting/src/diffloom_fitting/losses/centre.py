"""Centre error: distance of the centre of the nodes from a goal."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from diffloom.interfaces import InputError
from diffloom_fitting.losses.loss import Loss
from diffloom_fitting.scene import View
from diffloom_fitting.targets import Target


@dataclass(frozen=True)
class CentreError(Loss):
    """Mean squared difference between the centres of all nodes [m], over frames and coordinates.

    It suits models whose coordinates are positions: particles and rigid bodies. Nothing is rendered. For nodes of equal
    mass the centre is the centre of mass.
    """

    @property
    def outputs(self) -> tuple[str, ...]:
        return ()

    def residuals(self, view: View, target: Target) -> Tensor:
        if target.q is None:
            raise InputError("loss 'centre' compares positions, and images have none; give target.centre, or use 'mse'")
        return centres(view.q) - centres(target.q)


def centres(q: Tensor) -> Tensor:
    """Return the centres (frames, 3) [m] of nodes at q (frames, nodes, 3 or more)."""
    if q.dim() != 3 or q.shape[-1] not in (3, 7):
        raise InputError(
            f"centre: got coordinates of shape {tuple(q.shape)}; expected positions of particles or rigid bodies, "
            "(frames, nodes, 3 or 7)"
        )
    return q[..., :3].mean(dim=1)
