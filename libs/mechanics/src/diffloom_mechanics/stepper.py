"""Interface between rollouts and schemes: advance a segment, and propagate cotangents back through it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from torch import Tensor

Tensors = tuple[Tensor, ...]


@dataclass(frozen=True)
class Segment:
    """Steps k0 to k0 + count of a rollout.

    Args:
        k0: First step.
        q: Coordinates (count + 1, nodes, dq) of each node set, or fewer rows when ``steps`` is given.
        u: Velocities (count + 1, nodes, du) of each node set, or fewer rows when ``steps`` is given.
        steps: Number of steps when rows of q and u are reused in turn, for states that are not read again.
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
        """Return the row of q and u that holds a state.

        Args:
            j: Number of steps after k0.

        Returns:
            Row number.
        """
        return j % int(self.q[0].shape[0])

    def state(self, j: int) -> tuple[Tensors, Tensors]:
        """Return q and u of each node set after some steps.

        Args:
            j: Number of steps after k0.

        Returns:
            Tuples of q and of u.
        """
        row = self.row(j)
        return tuple(q[row] for q in self.q), tuple(u[row] for u in self.u)


@dataclass(frozen=True)
class FrameCotangents:
    """Cotangents of the saved frames.

    Args:
        of_step: Frame (steps + 1,) saved at each step, int32, or -1.
        q: Cotangents (frames, nodes, dq) for each node set.
        u: Cotangents (frames, nodes, du) for each node set.
    """

    of_step: Tensor
    q: Tensors
    u: Tensors

    def inject(self, k: int, adj_q: Tensors, adj_u: Tensors) -> None:
        """Add the cotangent of the frame saved at one step, if there is one.

        Args:
            k: The step.
            adj_q: Cotangents of q of each node set, added to in place.
            adj_u: Cotangents of u of each node set, added to in place.
        """
        frame = int(self.of_step[k])
        if frame >= 0:
            for total, part in zip((*adj_q, *adj_u), (*self.q, *self.u), strict=True):
                total += part[frame]


class Stepper(ABC):
    """Time-stepping scheme bound to one system and step length; owns its workspaces and gradient sums."""

    #: True if ``advance`` leaves nothing behind that ``advance_adjoint`` would read.
    keeps_nothing = False
    #: True if the scheme ends each step by ``SystemEvaluation.remember``, so that it runs terms with memory.
    updates_memory = False

    @abstractmethod
    def advance(self, segment: Segment) -> None:
        """Fill all states of a segment after the first.

        Args:
            segment: Steps to run; its state 0 is given.
        """

    @abstractmethod
    def advance_adjoint(self, segment: Segment, frames: FrameCotangents, adj_q: Tensors, adj_u: Tensors) -> None:
        """Replace the cotangent of the segment's last state, in place, by that of its first.

        Adds the cotangents of frames saved at all states but the last, and sums the gradients of all tensors.

        Args:
            segment: Steps that were run, with all their states.
            frames: Cotangents of the saved frames.
            adj_q: Cotangents of q of each node set.
            adj_u: Cotangents of u of each node set.
        """

    @abstractmethod
    def gradients(self) -> list[Tensor | None]:
        """Return the summed gradients.

        Returns:
            Gradients in the order of the system's tensors; None where a gradient was not computed.
        """


#: Function from the values of the system's tensors, and a flag for each gradient that is asked for, to a stepper.
MakeStepper = Callable[[Sequence[Tensor], Sequence[bool]], Stepper]
