"""The interface between searches and what they minimise: requests for evaluations, answers, and the problem.

A search (an optimiser's step, a chain of draws, a fit from one start) is a generator. It yields an `Evaluate`, is sent
the answers, and returns what it found::

    def step(self, problem, progress, rate):
        (seen,) = yield Evaluate([progress.z - rate * progress.gradient], want="gradient")
        ...
        return Progress(...)

It never evaluates anything itself. The driver (`diffloom_fitting.driver`) takes the requests of all searches that are
under way and hands those that can be answered together to `Problem.evaluate_batch`, as one simulation and one drawing.
A scene seen against a target (`diffloom_fitting.Objective`) is one kind of problem.
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
    """The loss at one point, with its gradient if that was wanted.

    Args:
        value: The loss; infinite where there is none.
        gradient: (n,), or None while it is not known.
        trouble: Why the loss or its gradient is not finite; None when they are.
        kept: Belongs to the problem: what it needs for a gradient or residuals at this point without simulating again.
    """

    value: float
    gradient: Tensor | None = None
    trouble: str | None = None
    kept: Any = field(default=None, compare=False, repr=False)

    @property
    def finite(self) -> bool:
        """Whether it can be used."""
        return self.trouble is None


@dataclass(frozen=True, eq=False)
class Evaluate:
    """A request for evaluations at some points; the answer is a list with one entry for each of them.

    Args:
        points: Vectors (n,) of the searched space. To differentiate what was evaluated before, give the `Evaluation`
            that answered a request with ``differentiable=True`` instead of a vector: nothing is simulated again. For
            residuals its ``kept`` must not be None, as it is where the loss is not finite.
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
#: A generator that yields requests, is sent the list of answers to each, and returns what it found.
Search = Generator[Evaluate, list[Any], Found]
#: A request and the problem it is put to.
Question = tuple["Problem", Evaluate]


class Problem(ABC):
    """Something to minimise: a loss as a function of the unknowns' vector z.

    Implementations have the attributes ``layout``, which says how the unknowns lie in the vector, and ``enough``, a
    loss at which no step follows, so that nobody needs a gradient, or None.
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
        """A key that problems share whose points can be evaluated by one call of ``evaluate_batch``."""
        return id(self)

    def batch_size(self, z: Tensor) -> int:
        """How many points like ``z`` are best evaluated at once; 1 when that saves nothing."""
        return 1

    @property
    def own_curvature(self) -> bool:
        """Whether it answers requests for "curvature", because it linearises itself better than entry by entry."""
        return False

    @property
    def rounding(self) -> float:
        """A loss that is nothing but rounding error."""
        return 0.0

    @property
    def smooth_residuals(self) -> int:
        """How many residuals at the end, such as those of a prior, cannot jump however steep they are."""
        return 0

    def low_enough(self, loss: float) -> bool:
        """Whether no step follows a loss, so that its gradient is not needed."""
        return self.enough is not None and loss <= self.enough

    def without_enough(self) -> Self:
        """Return a copy of this problem without a loss that is low enough."""
        other = copy(self)
        object.__setattr__(other, "enough", None)  # problems may be frozen
        return other

    def evaluate(self, z: Tensor) -> Evaluation:
        """Loss and gradient at ``z``."""
        (seen,) = self._ask(Evaluate([z], differentiable=True))
        if seen.finite and seen.gradient is None:
            (seen,) = self._ask(Evaluate([seen], "gradient"))
        return seen  # type: ignore[no-any-return]

    def value(self, z: Tensor) -> Evaluation:
        """The loss alone at ``z``, which is cheaper."""
        return self.values_at([z])[0]

    def values_at(self, points: Sequence[Tensor]) -> list[Evaluation]:
        """The losses alone at many points, evaluated together where that can be."""
        return self._ask(Evaluate(points))

    def residuals(self, z: Tensor) -> Tensor:
        """(m,): the differences whose mean square is the loss; SimulationError when it cannot be simulated."""
        (found,) = self._ask(Evaluate([z], "residuals"))
        return found  # type: ignore[no-any-return]

    def residuals_at(self, points: Sequence[Tensor]) -> Iterator[Tensor]:
        """``residuals`` at many points, evaluated together where that can be."""
        size = self.batch_size(points[0]) if points else 1
        for first in range(0, len(points), size):
            yield from self._ask(Evaluate(points[first : first + size], "residuals"))

    def jacobian(self, z: Tensor) -> tuple[Tensor, Tensor]:
        """(residuals (m,), their gradients (m, n)) by the adjoint, for losses with few residuals."""
        (found,) = self._ask(Evaluate([z], "jacobian"))
        return found  # type: ignore[no-any-return]

    def _ask(self, request: Evaluate) -> list[Any]:
        (answers,) = self.evaluate_batch([(self, request)])
        if isinstance(answers, Exception):
            raise answers
        return answers
