"""Checks, their runner and results, and reports that count the results."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class CheckOutcome(StrEnum):
    """Outcome of one check."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"
    EXPECTED = "failed as expected"


@dataclass(frozen=True)
class CheckResult:
    """Result of one check on one subject.

    Args:
        check: Name of the check, ``family.check`` or ``family.check[case]``.
        outcome: How it ended.
        detail: Reason of a failure or skip, or a note on the measurement.
        seconds: Duration [s].
        comparisons: Number of comparisons that it made.
    """

    check: str
    outcome: CheckOutcome
    detail: str = ""
    seconds: float = 0.0
    comparisons: int = 0

    @property
    def family(self) -> str:
        """Family of the check."""
        return self.check.split(".", 1)[0]


@dataclass(frozen=True)
class CheckReport:
    """All results of one subject.

    Args:
        kind: "model", "integrator", "renderer", "term", ...
        name: Name of the subject.
        results: Results in the order in which the checks ran.
    """

    kind: str
    name: str
    results: tuple[CheckResult, ...]

    def count(self, outcome: CheckOutcome) -> int:
        """Count the checks with one outcome.

        Args:
            outcome: The outcome.

        Returns:
            Number of checks.
        """
        return sum(result.outcome is outcome for result in self.results)

    @property
    def failures(self) -> tuple[CheckResult, ...]:
        """Results that failed."""
        return tuple(result for result in self.results if result.outcome is CheckOutcome.FAILED)

    @property
    def compared(self) -> int:
        """Number of checks that compared something, among those that ran."""
        return sum(result.comparisons > 0 for result in self.results if result.outcome is not CheckOutcome.SKIPPED)

    @property
    def causes(self) -> tuple[str, ...]:
        """One line for each cause of failure: the first check that met it, the detail, then further checks."""
        checks: dict[str, list[str]] = {}
        for result in self.failures:
            checks.setdefault(result.detail, []).append(result.check)
        return tuple(f"{first}: {detail}{_others(rest)}" for detail, (first, *rest) in checks.items())

    @property
    def skipped_families(self) -> dict[str, str]:
        """Families of which no check ran, with the first reason."""
        ran = {result.family for result in self.results if result.outcome is not CheckOutcome.SKIPPED}
        reasons: dict[str, str] = {}
        for result in self.results:
            if result.family not in ran:
                reasons.setdefault(result.family, result.detail)
        return reasons

    @property
    def summary(self) -> str:
        """Counts of the outcomes, in one line."""
        ran = len(self.results) - self.count(CheckOutcome.SKIPPED)
        expected = self.count(CheckOutcome.EXPECTED)
        return (
            f"{self.kind} {self.name}: {ran} checks ran: {self.count(CheckOutcome.PASSED)} passed, "
            f"{self.count(CheckOutcome.FAILED)} failed, {self.count(CheckOutcome.SKIPPED)} skipped"
            + (f", {expected} failed as expected" if expected else "")
            + f"; {self.compared} compared something"
        )

    def __str__(self) -> str:
        lines = [self.summary]
        lines += [f"  FAILED {cause}" for cause in self.causes]
        lines += [f"  family {family} skipped: {reason}" for family, reason in self.skipped_families.items()]
        return "\n".join(lines)

    def raise_if_failed(self) -> CheckReport:
        """Raise AssertionError if a check failed.

        Returns:
            The report itself.

        Raises:
            AssertionError: A check failed; the message lists all failures.
        """
        if self.failures:
            raise AssertionError(str(self))
        return self


def _others(checks: list[str]) -> str:
    """Return a note on further checks with the same failure."""
    if not checks:
        return ""
    shown = ", ".join(checks[:3]) + (", ..." if len(checks) > 3 else "")
    return f" (and the same in {len(checks)} more: {shown})"


#: Number of comparisons made so far in this process.
_made = 0


def count_comparisons(count: int = 1) -> None:
    """Count ``count`` comparisons for the check that is running; a check without any is skipped, not passed.

    The functions ``require...`` of this package count their own comparisons.

    Args:
        count: Number of comparisons that were made.
    """
    global _made
    _made += count


class Skip(Exception):  # noqa: N818
    """Exception of a check that does not apply; its message is the reason."""


class Failure(AssertionError):  # noqa: N818
    """Exception of a check that found a fault; its message states finding and expectation."""


@dataclass(frozen=True)
class Check:
    """A named function of a subject, or of a subject and each of its cases (parameters, outputs, ...).

    The function returns a note on the measurement, or None, and raises Failure or Skip. Any other exception is a
    failure too, and a check that returns without a comparison counts as skipped.

    Args:
        family: Group of related checks.
        name: Name within the family.
        function: The check.
        cases: Returns the names of the cases of a subject; None for a check without cases.
    """

    family: str
    name: str
    function: Callable[..., str | None]
    cases: Callable[[Any], tuple[str, ...]] | None = None

    @property
    def doc(self) -> str:
        """First line of the function's docstring."""
        return (self.function.__doc__ or "").strip().split("\n")[0]


@dataclass(frozen=True)
class Item:
    """One check, ready to run on one subject in one case.

    Args:
        check: The check.
        subject: Subject under test.
        case: Name of the case, or None.
    """

    check: Check
    subject: Any
    case: str | None = None

    @property
    def name(self) -> str:
        """Name ``family.check`` or ``family.check[case]``, which expected failures refer to as well."""
        name = f"{self.check.family}.{self.check.name}"
        return name if self.case is None else f"{name}[{self.case}]"

    def __call__(self) -> str | None:
        """Run the check; it raises Failure or Skip."""
        arguments = (self.subject,) if self.case is None else (self.subject, self.case)
        return self.check.function(*arguments)


def check(family: str, cases: Callable[[Any], tuple[str, ...]] | None = None) -> Callable[[Any], Check]:
    """Decorator that makes a Check of a function and names it after the function.

    Args:
        family: Group of related checks.
        cases: Returns the names of the cases of a subject; None for a check without cases.

    Returns:
        The decorator.

    Example:
        @check("shapes")
        def square(subject):
            require(subject.width == subject.height, f"width {subject.width} differs from height {subject.height}")
    """

    def wrap(function: Callable[..., str | None]) -> Check:
        return Check(family, function.__name__, function, cases)

    return wrap


def expand_cases(checks: tuple[Check, ...], subject: Any) -> Iterator[Item]:
    """Yield every check once for each of its cases; if the cases cannot be listed, one item that fails with the
    error.
    """
    for each in checks:
        if each.cases is None:
            yield Item(each, subject)
            continue
        try:
            cases = each.cases(subject)
        except Exception as error:
            yield Item(_make_listing_check(each, error), subject)
        else:
            yield from (Item(each, subject, case) for case in cases)


def _make_listing_check(each: Check, error: Exception) -> Check:
    """Return a check that fails with the error of listing its cases."""

    def fail(subject: Any) -> None:
        # The original error, unchanged, so that a report lists the cause once for all checks.
        raise error

    return Check(each.family, each.name, fail)


def run_check(item: Item, expected: Mapping[str, str]) -> CheckResult:
    """Run one item.

    Args:
        item: The check.
        expected: Names of checks that cannot pass, with reasons. If one of them passes, that is a failure.
    """
    start, before = time.perf_counter(), _made
    outcome, detail = CheckOutcome.PASSED, ""
    try:
        detail = item() or ""
    except Skip as skip:
        outcome, detail = CheckOutcome.SKIPPED, str(skip)
    except Failure as failure:
        outcome, detail = CheckOutcome.FAILED, str(failure)
    except Exception as error:
        outcome, detail = CheckOutcome.FAILED, f"{type(error).__name__}: {error}"
    made = _made - before
    if outcome is CheckOutcome.PASSED and not made:
        outcome, detail = CheckOutcome.SKIPPED, "nothing was compared" + (f": {detail}" if detail else "")
    if item.name in expected and outcome is not CheckOutcome.SKIPPED:
        if outcome is CheckOutcome.FAILED:
            outcome, detail = CheckOutcome.EXPECTED, f"{expected[item.name]} ({detail})"
        else:
            outcome, detail = CheckOutcome.FAILED, f"passes, but was expected to fail: {expected[item.name]}"
    return CheckResult(item.name, outcome, detail, time.perf_counter() - start, made)


def require(holds: bool, message: str) -> None:
    """Raise Failure unless a condition holds; count one comparison.

    Args:
        holds: The condition.
        message: Finding and expectation.
    """
    count_comparisons()
    if not holds:
        raise Failure(message)


def validate_reasons(expected: Mapping[str, str] | None, names: tuple[str, ...]) -> dict[str, str]:
    """Return the expected failures.

    Raises:
        ValueError: A name is no check, or has no reason.
    """
    reasons = dict(expected or {})
    for name, reason in reasons.items():
        if not isinstance(reason, str) or not reason.strip():
            raise ValueError(f"expected failure {name!r}: got no reason; state why this check cannot pass")
        if name not in names:
            raise ValueError(f"expected failure {name!r}: no check has this name; the checks are {', '.join(names)}")
    return reasons
