"""What a rollout needs of a scheme: advance a segment, and pull cotangents back through it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class Segment:
    """Steps k0 to k0 + count of a rollout.

    q, u hold count + 1 states; or only a few, when ``steps`` tells the count and their rows are used in turn, for
    states that nobody will look at again.
    """

    k0: int
    q: Tensor
    u: Tensor
    steps: int | None = None

    @property
    def count(self) -> int:
        """Number of steps."""
        return int(self.q.shape[0]) - 1 if self.steps is None else self.steps

    def row(self, j: int) -> int:
        """The row of q and u that holds the state after j steps."""
        return j % int(self.q.shape[0])


@dataclass(frozen=True)
class FrameCotangents:
    """Cotangents of the saved frames: of_step (steps + 1,) int32 tells the frame of a step or -1."""

    of_step: Tensor
    q: Tensor
    u: Tensor


class Stepper(ABC):
    """A time-stepping scheme bound to one system and step length; owns its workspaces and gradient sums."""

    #: Whether one that has advanced is as good as a new one for pulling back.
    keeps_nothing = False

    @abstractmethod
    def advance(self, segment: Segment) -> None:
        """Fill states 1.. of the segment from state 0."""

    @abstractmethod
    def pull_back(self, segment: Segment, frames: FrameCotangents, adj_q: Tensor, adj_u: Tensor) -> None:
        """Replace the cotangent of the segment's last state, in place, by that of its first.

        Adds the cotangents of frames saved at all but the last state, and sums the gradients of all tensors.
        """

    @abstractmethod
    def gradients(self) -> list[Tensor | None]:
        """The summed gradients, in the order of the system's tensors."""
