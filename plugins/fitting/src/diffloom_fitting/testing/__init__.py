"""Conformance suites for authors of losses and optimisers.

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
    """Check a loss on small images and states.

    Args:
        loss: A registered name, a class or an instance.
        expected_failures: Names of checks that cannot pass, each with its reason; one that passes counts as a failure.
        families: Families of checks to run; None for all.

    Returns:
        The report.

    Raises:
        AssertionError: A check failed; the message lists all failures.
    """
    return run_suite(loss_subject(loss), expected_failures, families).raise_if_failed()


def check_optimiser(
    optimiser: Any, *, expected_failures: Mapping[str, str] | None = None, families: Iterable[str] | None = None
) -> CheckReport:
    """Check an optimiser on a small fit.

    Args:
        optimiser: A registered name, a class or an instance.
        expected_failures: Names of checks that cannot pass, each with its reason; one that passes counts as a failure.
        families: Families of checks to run; None for all.

    Returns:
        The report.

    Raises:
        AssertionError: A check failed; the message lists all failures.
    """
    return run_suite(optimiser_subject(optimiser), expected_failures, families).raise_if_failed()
