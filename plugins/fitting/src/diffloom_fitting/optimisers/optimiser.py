"""Interface of optimisers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from torch import Tensor

from diffloom.interfaces import SimulationError
from diffloom.validation import check_settings
from diffloom_fitting.problem import Evaluate, Evaluation, Problem, Search

RETRIES = 12  # number of halvings of a step that is not finite


class FitError(SimulationError):
    """A fit cannot continue; the message says where and what to try."""


@dataclass(frozen=True)
class Progress:
    """State of an optimiser, with which it continues bit for bit.

    Args:
        z: (n,), the vector.
        value: Loss at z.
        gradient: (n,), gradient at z; None for methods without, and if the loss is so low that no step follows.
        memory: Numbers and tensors of the method.
        evaluations: Number of simulations for a value, gradient or residual.
        rejected: Number of steps that were not finite and were retried smaller.
        done: Reason if no further step is possible.
        residuals: Residuals at z, if known; not stored, because they can be computed again.
    """

    z: Tensor
    value: float
    gradient: Tensor | None = None
    memory: dict[str, Any] = field(default_factory=dict)
    evaluations: int = 0
    rejected: int = 0
    done: str | None = None
    residuals: Tensor | None = field(default=None, compare=False, repr=False, metadata={"kept": False})


class Optimiser(ABC):
    """Method of minimising a problem.

    Implementations are frozen dataclasses of settings, registered by name through the hook
    ``diffloom_register_optimisers``; an experiment file sets their fields beside the name in [[stages]].

    ``begin``, ``step`` and ``renew`` are generators: they yield requests (``answers = yield Evaluate(points,
    want="gradient")``) and return a ``Progress``. Requests of several starts are simulated as one batch. The whole
    state is a ``Progress``, so that a fit can be resumed bit for bit. ``problem`` has properties such as
    ``problem.rounding`` and must not be evaluated directly. To run a method by hand: ``run_search(problem,
    optimiser.step(problem, progress, 1.0))``.

    ``expected_failures`` names checks of the conformance suite that cannot pass, with reasons. ``stop_window`` is the
    default patience of ``Stop``.
    """

    expected_failures: ClassVar[Mapping[str, str]] = {}
    stop_window: ClassVar[int] = 5

    def __post_init__(self) -> None:
        check_settings(self)

    @abstractmethod
    def begin(self, problem: Problem, z: Tensor, seed: int) -> Search[Progress]:
        """Evaluate the start.

        Args:
            problem: The problem that answers requests.
            z: (n,), the start.
            seed: Seed of all random numbers.

        Returns:
            A search for the first state.
        """

    @abstractmethod
    def step(self, problem: Problem, progress: Progress, rate: float) -> Search[Progress]:
        """Make one iteration.

        Value and gradient of the returned state are those at its z. A step that is not finite is retried smaller.

        Args:
            problem: The problem that answers requests.
            progress: State after the last iteration; it is not changed.
            rate: Factor from the learning-rate schedule, 1 without one.

        Returns:
            A search for the next state.

        Raises:
            FitError: No finite step was found.
        """

    def renew(self, problem: Problem, progress: Progress) -> Search[Progress]:
        """Evaluate the same point again after a schedule has changed the problem.

        Args:
            problem: The changed problem.
            progress: State after the last iteration.

        Returns:
            A search for the state under the changed problem.
        """
        (seen,) = yield Evaluate([progress.z], "gradient")
        if not seen.finite:
            raise not_finite("after a schedule changed the problem", progress.z, seen.trouble)
        return Progress(
            progress.z, seen.value, seen.gradient, progress.memory, progress.evaluations + 1, progress.rejected
        )


def first_evaluation(problem: Problem, z: Tensor, residuals: bool = False, gradient: bool = True) -> Search[Progress]:
    """Evaluate the start.

    Args:
        problem: The problem that answers requests.
        z: (n,), the start.
        residuals: True to evaluate residuals too.
        gradient: True to evaluate the gradient, unless the loss is low enough.

    Returns:
        A search for the first state.

    Raises:
        FitError: The loss is not finite.
    """
    (seen,) = yield Evaluate([z], differentiable=gradient)
    if gradient and not problem.low_enough(seen.value):
        (seen,) = yield Evaluate([seen], "gradient")
    if not seen.finite:
        raise not_finite("at the start", z, seen.trouble)
    kept = (yield from keep_residuals(seen)) if residuals else None
    return Progress(z.detach().clone(), seen.value, seen.gradient, {}, 1, residuals=kept)


def keep_residuals(seen: Evaluation) -> Search[Tensor | None]:
    """Return the residuals of a differentiable evaluation without simulating again; None if it has no graph."""
    if seen.kept is None:
        return None
    (found,) = yield Evaluate([seen], "residuals")
    return found  # type: ignore[no-any-return]


def not_finite(where: str, z: Tensor, trouble: str | None) -> FitError:
    """Return the error for a point without finite loss."""
    return FitError(
        f"no finite loss {where}: {trouble}. Try another start, a smaller time step "
        '(time.dt = "auto"), or a smaller rate '
        f"(searched vector: {', '.join(f'{float(v):.4g}' for v in z[:6])}{', ...' if z.numel() > 6 else ''})"
    )
