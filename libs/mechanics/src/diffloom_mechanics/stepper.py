"""What a rollout needs of a scheme: advance a segment, and pull cotangents back through it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from torch import Tensor

Tensors = tuple[Tensor, ...]


@dataclass(frozen=True)
class Segment:
    """Steps k0 to k0 + count of a rollout.

    q, u hold count + 1 states of each node set; or only a few, when ``steps`` tells the count and their rows are used
    in turn, for states that nobody will look at again.
    """

    k0: int
    q: Tensors
    u: Tensors
    steps: int | None = None

    @property
    def count(self) -> int:
        """Number of steps."""
        return int(self.q[0].shape[0]) - 1 if self.steps is None else self.steps

    def row(self, j: int) -> int:
        """The row of q and u that holds the state after j steps."""
        return j % int(self.q[0].shape[0])

    def state(self, j: int) -> tuple[Tensors, Tensors]:
        """The state after j steps."""
        row = self.row(j)
        return tuple(q[row] for q in self.q), tuple(u[row] for u in self.u)


@dataclass(frozen=True)
class FrameCotangents:
    """Cotangents of the saved frames: of_step (steps + 1,) int32 tells the frame of a step or -1."""

    of_step: Tensor
    q: Tensors
    u: Tensors

    def inject(self, k: int, adj_q: Tensors, adj_u: Tensors) -> None:
        """Add the cotangent of the frame saved at step k, if there is one."""
        frame = int(self.of_step[k])
        if frame >= 0:
            for total, part in zip((*adj_q, *adj_u), (*self.q, *self.u), strict=True):
                total += part[frame]


class Stepper(ABC):
    """A time-stepping scheme bound to one system and step length; owns its workspaces and gradient sums."""

    #: Whether one that has advanced is as good as a new one for pulling back.
    keeps_nothing = False

    @abstractmethod
    def advance(self, segment: Segment) -> None:
        """Fill states 1.. of the segment from state 0."""

    @abstractmethod
    def advance_adjoint(self, segment: Segment, frames: FrameCotangents, adj_q: Tensors, adj_u: Tensors) -> None:
        """Replace the cotangent of the segment's last state, in place, by that of its first.

        Adds the cotangents of frames saved at all but the last state, and sums the gradients of all tensors.
        """

    @abstractmethod
    def gradients(self) -> list[Tensor | None]:
        """The summed gradients, in the order of the system's tensors."""


#: Makes a stepper from values of the system's tensors, and for each whether its gradient is asked for.
MakeStepper = Callable[[Sequence[Tensor], Sequence[bool]], Stepper]
