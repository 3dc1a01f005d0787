"""What came of the checks: one result each, and reports that count them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Outcome(StrEnum):
    """What came of one check."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"
    EXPECTED = "failed as expected"


@dataclass(frozen=True)
class Result:
    """One check on one subject.

    check: its name, ``family.check`` or ``family.check[case]``. detail: why it failed or was skipped, or what was
    measured. seconds: time it took [s]. comparisons: how many it made.
    """

    check: str
    outcome: Outcome
    detail: str = ""
    seconds: float = 0.0
    comparisons: int = 0

    @property
    def family(self) -> str:
        """The family the check belongs to."""
        return self.check.split(".", 1)[0]


@dataclass(frozen=True)
class Report:
    """All results of one subject. kind: "model", "integrator", "renderer", ...; name: what it is called."""

    kind: str
    name: str
    results: tuple[Result, ...]

    def count(self, outcome: Outcome) -> int:
        """How many checks ended so."""
        return sum(result.outcome is outcome for result in self.results)

    @property
    def failures(self) -> tuple[Result, ...]:
        """The results that failed."""
        return tuple(result for result in self.results if result.outcome is Outcome.FAILED)

    @property
    def compared(self) -> int:
        """How many of the checks that ran compared something."""
        return sum(result.comparisons > 0 for result in self.results if result.outcome is not Outcome.SKIPPED)

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
        ran = {result.family for result in self.results if result.outcome is not Outcome.SKIPPED}
        reasons: dict[str, str] = {}
        for result in self.results:
            if result.family not in ran:
                reasons.setdefault(result.family, result.detail)
        return reasons

    @property
    def summary(self) -> str:
        """How many checks ran and how they ended, in one line."""
        ran = len(self.results) - self.count(Outcome.SKIPPED)
        expected = self.count(Outcome.EXPECTED)
        return (
            f"{self.kind} {self.name}: {ran} checks ran: {self.count(Outcome.PASSED)} passed, "
            f"{self.count(Outcome.FAILED)} failed, {self.count(Outcome.SKIPPED)} skipped"
            + (f", {expected} failed as expected" if expected else "")
            + f"; {self.compared} compared something"
        )

    def __str__(self) -> str:
        lines = [self.summary]
        lines += [f"  FAILED {cause}" for cause in self.causes]
        lines += [f"  family {family} skipped: {reason}" for family, reason in self.skipped_families.items()]
        return "\n".join(lines)

    def raise_if_failed(self) -> Report:
        """Itself, or AssertionError with all failures."""
        if self.failures:
            raise AssertionError(str(self))
        return self


def _others(checks: list[str]) -> str:
    if not checks:
        return ""
    shown = ", ".join(checks[:3]) + (", ..." if len(checks) > 3 else "")
    return f" (and the same in {len(checks)} more: {shown})"
