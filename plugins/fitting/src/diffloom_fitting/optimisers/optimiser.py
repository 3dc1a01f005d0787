"""The interface of an optimiser."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from torch import Tensor

from diffloom.interfaces import SimulationError
from diffloom.validation import check_settings
from diffloom_fitting.objective import Objective

RETRIES = 12


class FitError(SimulationError):
    """A fit cannot go on; the message says where it stood and what to try."""


@dataclass(frozen=True)
class Progress:
    """Where an optimiser stands: everything it needs to go on to the same bits.

    z: (n,) the vector. value: the loss there. gradient: (n,) there, or None for methods without, and where the loss is
    so low that no step follows. memory: the
    method's own numbers and tensors. evaluations: how often the scene was simulated for a value, gradient or
    residual. rejected: steps that were not finite and were retried smaller. done: why no further step is possible.
    residuals: at z, where they came along; not kept with a run, since they can be had again.
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

    All that changes lies in a ``Progress``, so that a fit can be resumed to the same bits. expected_failures: checks
    of the conformance suite that cannot pass, each with its reason. stop_window: iterations over which a stage judges
    whether the loss still falls, unless its ``Stop`` says so.
    """

    expected_failures: ClassVar[Mapping[str, str]] = {}
    stop_window: ClassVar[int] = 5

    def __post_init__(self) -> None:
        check_settings(self)

    @abstractmethod
    def begin(self, objective: Objective, z: Tensor, seed: int) -> Progress:
        """Evaluate the start. seed: for methods that draw numbers."""

    @abstractmethod
    def step(self, objective: Objective, progress: Progress, rate: float) -> Progress:
        """One iteration. rate: factor from the learning-rate schedule, 1 without one.

        The result's value and gradient are those at its z. A step that is not finite is retried smaller; FitError
        when none is found.
        """

    def renew(self, objective: Objective, progress: Progress) -> Progress:
        """The same place when the objective has changed (a schedule moved): evaluate again."""
        seen = objective.evaluate(progress.z)
        if not seen.finite:
            raise not_finite("after the schedule moved", progress.z, seen.trouble)
        return Progress(
            progress.z, seen.value, seen.gradient, progress.memory, progress.evaluations + 1, progress.rejected
        )


def first_evaluation(objective: Objective, z: Tensor, residuals: bool = False) -> Progress:
    """The start, with its gradient unless its loss is low enough, and residuals if asked for; FitError when it is not
    finite."""
    tried = objective.trial(z)
    seen = tried.loss if objective.low_enough(tried.loss.value) else tried.evaluation()
    if not seen.finite:
        raise not_finite("at the start", z, seen.trouble)
    kept = tried.residuals() if residuals else None
    return Progress(z.detach().clone(), seen.value, seen.gradient, {}, 1, residuals=kept)


def not_finite(where: str, z: Tensor, trouble: str | None) -> FitError:
    """The error for a place that cannot be evaluated."""
    return FitError(
        f"no finite loss {where}: {trouble}. Try another start, a smaller time step, or a smaller rate "
        f"(searched vector: {', '.join(f'{float(v):.4g}' for v in z[:6])}{', ...' if z.numel() > 6 else ''})"
    )
