"""What authors of losses and optimisers test their work with: the conformance suites of both.

``check_loss("mse")`` and ``check_optimiser("adam")`` run all checks and raise with all failures;
``diffloom_testing.parametrize_with_checks`` and ``diffloom plugins check`` take losses and optimisers too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from diffloom_fitting.testing.subjects import LossSubject, OptimiserSubject, loss_subject, optimiser_subject
from diffloom_fitting.testing.valley import small_fit
from diffloom_testing import CheckReport, run_suite

__all__ = [
    "LossSubject",
    "OptimiserSubject",
    "check_loss",
    "check_optimiser",
    "loss_subject",
    "optimiser_subject",
    "small_fit",
]


def check_loss(
    loss: Any, *, expected_failures: Mapping[str, str] | None = None, families: Iterable[str] | None = None
) -> CheckReport:
    """Check a loss (a registered name, a class or an instance) on small images and states; raises AssertionError that
    lists all failures. expected_failures: names of checks that cannot pass, each with its reason; one that passes after
    all is a failure. families: run only these."""
    return run_suite(loss_subject(loss), expected_failures, families).raise_if_failed()


def check_optimiser(
    optimiser: Any, *, expected_failures: Mapping[str, str] | None = None, families: Iterable[str] | None = None
) -> CheckReport:
    """Check an optimiser (a registered name, a class or an instance) on a small fit; raises AssertionError that lists
    all failures. The other arguments are those of check_loss."""
    return run_suite(optimiser_subject(optimiser), expected_failures, families).raise_if_failed()
