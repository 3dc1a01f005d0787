"""Checks and how they are run; their results, and reports that count them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class CheckOutcome(StrEnum):
    """What came of one check."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"
    EXPECTED = "failed as expected"


@dataclass(frozen=True)
class CheckResult:
    """One check on one subject.

    check: its name, ``family.check`` or ``family.check[case]``. detail: why it failed or was skipped, or what was
    measured. seconds: time it took [s]. comparisons: how many it made.
    """

    check: str
    outcome: CheckOutcome
    detail: str = ""
    seconds: float = 0.0
    comparisons: int = 0

    @property
    def family(self) -> str:
        """The family the check belongs to."""
        return self.check.split(".", 1)[0]


@dataclass(frozen=True)
class CheckReport:
    """All results of one subject. kind: "model", "integrator", "renderer", ...; name: what it is called."""

    kind: str
    name: str
    results: tuple[CheckResult, ...]

    def count(self, outcome: CheckOutcome) -> int:
        """How many checks ended so."""
        return sum(result.outcome is outcome for result in self.results)

    @property
    def failures(self) -> tuple[CheckResult, ...]:
        """The results that failed."""
        return tuple(result for result in self.results if result.outcome is CheckOutcome.FAILED)

    @property
    def compared(self) -> int:
        """How many of the checks that ran compared something."""
        return sum(result.comparisons > 0 for result in self.results if result.outcome is not CheckOutcome.SKIPPED)

    @property
    def causes(self) -> tuple[str, ...]:
        """What failed, a line for each cause: the first check it was met in, then the others."""
        checks: dict[str, list[str]] = {}
        for result in self.failures:
            checks.setdefault(result.detail, []).append(result.check)
        return tuple(f"{first}: {detail}{_others(rest)}" for detail, (first, *rest) in checks.items())

    @property
    def skipped_families(self) -> dict[str, str]:
        """Families of which no check ran at all, with the reason that was given first."""
        ran = {result.family for result in self.results if result.outcome is not CheckOutcome.SKIPPED}
        reasons: dict[str, str] = {}
        for result in self.results:
            if result.family not in ran:
                reasons.setdefault(result.family, result.detail)
        return reasons

    @property
    def summary(self) -> str:
        """How many checks ran and how they ended, in one line."""
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
        """Itself, or AssertionError with all failures."""
        if self.failures:
            raise AssertionError(str(self))
        return self


def _others(checks: list[str]) -> str:
    if not checks:
        return ""
    shown = ", ".join(checks[:3]) + (", ..." if len(checks) > 3 else "")
    return f" (and the same in {len(checks)} more: {shown})"


#: How many comparisons checks have made so far, in this process.
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
    """Raised by a check that does not apply; its message is the reason."""


class Failure(AssertionError):  # noqa: N818
    """Raised by a check that found a fault; its message says what was found and what was expected."""


@dataclass(frozen=True)
class Check:
    """A named function on a subject, or on a subject and each of its cases (parameters, outputs, ...).

    It returns a note on what was measured, or None; raises Failure or Skip. Anything else it raises is a failure too,
    and one that returns without having compared anything counts as skipped.
    """

    family: str
    name: str
    function: Callable[..., str | None]
    cases: Callable[[Any], tuple[str, ...]] | None = None

    @property
    def doc(self) -> str:
        """What is checked, in one line."""
        return (self.function.__doc__ or "").strip().split("\n")[0]


@dataclass(frozen=True)
class Item:
    """One check ready to run: on one subject, in one case."""

    check: Check
    subject: Any
    case: str | None = None

    @property
    def name(self) -> str:
        """``family.check`` or ``family.check[case]``: also what expected failures are named by."""
        name = f"{self.check.family}.{self.check.name}"
        return name if self.case is None else f"{name}[{self.case}]"

    def __call__(self) -> str | None:
        """Run it; raises as the check does."""
        arguments = (self.subject,) if self.case is None else (self.subject, self.case)
        return self.check.function(*arguments)


def check(family: str, cases: Callable[[Any], tuple[str, ...]] | None = None) -> Callable[[Any], Check]:
    """Make a Check of a function; its name is the function's."""

    def wrap(function: Callable[..., str | None]) -> Check:
        return Check(family, function.__name__, function, cases)

    return wrap


def expand_cases(checks: tuple[Check, ...], subject: Any) -> Iterator[Item]:
    """Every check on ``subject``, once for each of its cases; where they cannot be listed, one item that fails."""
    for each in checks:
        if each.cases is None:
            yield Item(each, subject)
            continue
        try:
            cases = each.cases(subject)
        except Exception as error:
            yield Item(_unlisted(each, error), subject)
        else:
            yield from (Item(each, subject, case) for case in cases)


def _unlisted(each: Check, error: Exception) -> Check:
    def fail(subject: Any) -> None:
        # As it is: one cause in many checks is then told once.
        raise error

    return Check(each.family, each.name, fail)


def run(item: Item, expected: Mapping[str, str]) -> CheckResult:
    """Run one item; ``expected`` maps names of checks that may not pass to reasons."""
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
    """Raise Failure with ``message`` unless ``holds``."""
    count_comparisons()
    if not holds:
        raise Failure(message)


def validate_reasons(expected: Mapping[str, str] | None, names: tuple[str, ...]) -> dict[str, str]:
    """The expected failures, each of which must name a check there is and say why it fails."""
    reasons = dict(expected or {})
    for name, reason in reasons.items():
        if not isinstance(reason, str) or not reason.strip():
            raise ValueError(f"expected failure {name!r}: got no reason; say why this check cannot pass")
        if name not in names:
            raise ValueError(f"expected failure {name!r}: there is no such check; there are {', '.join(names)}")
    return reasons
