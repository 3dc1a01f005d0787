"""The interface of an optimiser."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from torch import Tensor

from diffloom.interfaces import SimulationError
from diffloom.validation import check_settings
from diffloom_fitting.problem import Evaluate, Evaluation, Problem, Search

RETRIES = 12


class FitError(SimulationError):
    """A fit cannot go on; the message says where it stood and what to try."""


@dataclass(frozen=True)
class Progress:
    """Where an optimiser stands: everything it needs to go on to the same bits.

    z: (n,) the vector. value: the loss there. gradient: (n,) there, or None for methods without, and where the loss is
    so low that no step follows. memory: the method's own numbers and tensors. evaluations: how often the scene was
    simulated for a value, gradient or residual. rejected: steps that were not finite and were retried smaller. done:
    why no further step is possible. residuals: at z, where they came along; not kept with a run, since they can be had
    again.
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
    """One way to go downhill. Implementations are frozen dataclasses of settings, registered by name through the hook
    ``diffloom_register_optimisers``; their fields can be set beside the name in an experiment's [[stages]].

    ``begin``, ``step`` and ``renew`` are generators: they yield what they want to have evaluated
    (``answers = yield Evaluate(points, want="gradient")``) and return a ``Progress``. What several fits from different
    starts ask for is then simulated together. All that changes lies in a ``Progress``, so that a fit can be resumed to
    the same bits; nothing of a generator outlives an iteration. ``problem`` tells about what is minimised, such as
    ``problem.rounding``; it is not to be evaluated directly. To run a method by hand: ``run_search(problem,
    optimiser.step(problem, progress, 1.0))``.

    expected_failures: checks
    of the conformance suite that cannot pass, each with its reason. stop_window: iterations over which a stage judges
    whether the loss still falls, unless its ``Stop`` says so.
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
            z: (n,) where to begin.
            seed: For methods that draw numbers.
        """

    @abstractmethod
    def step(self, problem: Problem, progress: Progress, rate: float) -> Search[Progress]:
        """Make one iteration.

        The value and gradient of the Progress that the generator returns are those at its z. A step that is not finite
        is retried smaller; FitError when none is found.

        Args:
            problem: The problem that answers requests.
            progress: Where the last iteration ended; it is not changed.
            rate: Factor from the learning-rate schedule, 1 without one.
        """

    def renew(self, problem: Problem, progress: Progress) -> Search[Progress]:
        """Evaluate the same place again when the problem has changed, because a schedule moved."""
        (seen,) = yield Evaluate([progress.z], "gradient")
        if not seen.finite:
            raise not_finite("after the schedule moved", progress.z, seen.trouble)
        return Progress(
            progress.z, seen.value, seen.gradient, progress.memory, progress.evaluations + 1, progress.rejected
        )


def first_evaluation(problem: Problem, z: Tensor, residuals: bool = False, gradient: bool = True) -> Search[Progress]:
    """Evaluate the start, with its ``gradient`` unless its loss is low enough, and ``residuals`` if asked for; FitError
    when it is not finite."""
    (seen,) = yield Evaluate([z], differentiable=gradient)
    if gradient and not problem.low_enough(seen.value):
        (seen,) = yield Evaluate([seen], "gradient")
    if not seen.finite:
        raise not_finite("at the start", z, seen.trouble)
    kept = (yield from keep_residuals(seen)) if residuals else None
    return Progress(z.detach().clone(), seen.value, seen.gradient, {}, 1, residuals=kept)


def keep_residuals(seen: Evaluation) -> Search[Tensor | None]:
    """The residuals of a differentiable evaluation, without simulating again; None where nothing was kept."""
    if seen.kept is None:
        return None
    (found,) = yield Evaluate([seen], "residuals")
    return found  # type: ignore[no-any-return]


def not_finite(where: str, z: Tensor, trouble: str | None) -> FitError:
    """The error for a place that cannot be evaluated."""
    return FitError(
        f"no finite loss {where}: {trouble}. Try another start, a smaller time step, or a smaller rate "
        f"(searched vector: {', '.join(f'{float(v):.4g}' for v in z[:6])}{', ...' if z.numel() > 6 else ''})"
    )
