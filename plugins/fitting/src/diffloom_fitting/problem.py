"""Interface between searches and problems: requests for evaluations and their answers.

A search (an optimiser's step, a chain of samples, a fit from one start) is a generator. It yields an `Evaluate`, is
sent the answers, and returns its result::

    def step(self, problem, progress, rate):
        (seen,) = yield Evaluate([progress.z - rate * progress.gradient], want="gradient")
        ...
        return Progress(...)

The driver (`diffloom_fitting.driver`) takes the requests of all running searches and passes those that belong together
to `Problem.evaluate_batch`, as one simulation. A scene compared with a target (`diffloom_fitting.Objective`) is one
kind of problem.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Hashable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any, Literal, Self, TypeVar

from torch import Tensor

from diffloom_fitting.unknowns import UnknownLayout

__all__ = ["Evaluate", "Evaluation", "Problem", "Question", "Search", "Want"]

Want = Literal["value", "gradient", "residuals", "jacobian", "curvature"]


@dataclass(frozen=True)
class Evaluation:
    """The loss at one point, with its gradient if requested.

    Args:
        value: The loss; infinite if it cannot be evaluated.
        gradient: (n,), or None if unknown.
        trouble: Reason if the loss or its gradient is not finite, else None.
        kept: Data of the problem for a later gradient or residuals at this point without simulating again.
    """

    value: float
    gradient: Tensor | None = None
    trouble: str | None = None
    kept: Any = field(default=None, compare=False, repr=False)

    @property
    def finite(self) -> bool:
        """True if loss and gradient are finite."""
        return self.trouble is None


@dataclass(frozen=True, eq=False)
class Evaluate:
    """A request for evaluations at some points; the answer is a list with one entry for each of them.

    Args:
        points: Vectors (n,) of the searched space. To differentiate an evaluated point without simulating it again,
            give the `Evaluation` that answered a request with ``differentiable=True``. For residuals its ``kept`` must
            not be None (it is None if the loss is not finite).
        want: "value": an `Evaluation` without gradient. "gradient": an `Evaluation` with gradient. "residuals": (m,),
            the differences whose mean square is the loss. "jacobian": (residuals (m,), their gradients (m, n)) by the
            adjoint, for losses with few residuals. "curvature": (half the gradient (n,), the Gauss-Newton curvature
            J'J, as a matrix (n, n) or an `Arrow`), of problems that have ``own_curvature``.
        differentiable: With "value": evaluate such that a gradient or residuals at these points may follow at the cost
            of a backward pass. Searches that look at the loss before they accept a point use it.
        width: With "curvature": of the central differences in the searched space; None for the problem's own.

    Points without a finite loss or gradient are answered by an `Evaluation` with ``trouble``. Residuals and Jacobians
    of points that cannot be simulated raise SimulationError in the search, where it has yielded the request.
    """

    points: Sequence[Tensor | Evaluation]
    want: Want = "value"
    differentiable: bool = False
    width: float | None = None


Found = TypeVar("Found")
#: A generator that yields requests, is sent the list of answers to each, and returns its result.
Search = Generator[Evaluate, list[Any], Found]
#: A request and its problem.
Question = tuple["Problem", Evaluate]


class Problem(ABC):
    """A loss to minimise as a function of the vector z of unknowns.

    Attributes:
        layout: Positions of the unknowns in the vector.
        enough: Loss at which the search ends, so that no gradient is needed; None for none.
    """

    layout: UnknownLayout
    enough: float | None

    @abstractmethod
    def evaluate_batch(self, questions: Sequence[Question]) -> list[list[Any] | Exception]:
        """Answer requests of several searches at once.

        Args:
            questions: Requests that want the same, put to problems with the same ``batch_key``. "gradient" comes only
                with evaluations from differentiable requests whose gradient is not known; "residuals" with either.

        Returns:
            For each request the list of its answers, or the exception to raise in the search that asked.
        """

    @property
    def batch_key(self) -> Hashable:
        """Key of problems whose points can share one call of ``evaluate_batch``."""
        return id(self)

    def batch_size(self, z: Tensor) -> int:
        """Return the best number of points for one call.

        Args:
            z: A point.

        Returns:
            The number; 1 if a batch saves nothing.
        """
        return 1

    @property
    def own_curvature(self) -> bool:
        """True if the problem answers "curvature", because it linearises itself better than entry by entry."""
        return False

    @property
    def rounding(self) -> float:
        """Loss that consists of rounding only."""
        return 0.0

    @property
    def smooth_residuals(self) -> int:
        """Number of residuals at the end, for example those of a prior, that cannot jump."""
        return 0

    def low_enough(self, loss: float) -> bool:
        """Return true if a loss ends the search, so that its gradient is not needed.

        Args:
            loss: The loss.

        Returns:
            True below ``enough``.
        """
        return self.enough is not None and loss <= self.enough

    def without_enough(self) -> Self:
        """Return a copy whose ``enough`` is None."""
        other = copy(self)
        object.__setattr__(other, "enough", None)  # problems may be frozen
        return other

    def evaluate(self, z: Tensor) -> Evaluation:
        """Evaluate loss and gradient.

        Args:
            z: (n,), the point.

        Returns:
            The evaluation.
        """
        (seen,) = self._ask(Evaluate([z], differentiable=True))
        if seen.finite and seen.gradient is None:
            (seen,) = self._ask(Evaluate([seen], "gradient"))
        return seen  # type: ignore[no-any-return]

    def value(self, z: Tensor) -> Evaluation:
        """Evaluate the loss alone, which is cheaper.

        Args:
            z: (n,), the point.

        Returns:
            The evaluation, without gradient.
        """
        return self.values_at([z])[0]

    def values_at(self, points: Sequence[Tensor]) -> list[Evaluation]:
        """Evaluate losses at many points, as a batch if possible.

        Args:
            points: Vectors (n,).

        Returns:
            One evaluation for each, without gradient.
        """
        return self._ask(Evaluate(points))

    def residuals(self, z: Tensor) -> Tensor:
        """Evaluate the residuals.

        Args:
            z: (n,), the point.

        Returns:
            (m,), differences whose mean square is the loss.

        Raises:
            SimulationError: The point cannot be simulated.
        """
        (found,) = self._ask(Evaluate([z], "residuals"))
        return found  # type: ignore[no-any-return]

    def residuals_at(self, points: Sequence[Tensor]) -> Iterator[Tensor]:
        """Evaluate residuals at many points, as batches if possible.

        Args:
            points: Vectors (n,).

        Returns:
            Residuals (m,) of each.
        """
        size = self.batch_size(points[0]) if points else 1
        for first in range(0, len(points), size):
            yield from self._ask(Evaluate(points[first : first + size], "residuals"))

    def jacobian(self, z: Tensor) -> tuple[Tensor, Tensor]:
        """Evaluate the residuals and their gradients by the adjoint, for losses with few residuals.

        Args:
            z: (n,), the point.

        Returns:
            Residuals (m,) and gradients (m, n).
        """
        (found,) = self._ask(Evaluate([z], "jacobian"))
        return found  # type: ignore[no-any-return]

    def _ask(self, request: Evaluate) -> list[Any]:
        (answers,) = self.evaluate_batch([(self, request)])
        if isinstance(answers, Exception):
            raise answers
        return answers
