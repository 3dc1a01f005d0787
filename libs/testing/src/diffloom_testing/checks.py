"""What a check is, and how one is run."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from diffloom_testing.results import Outcome, Result

#: How many comparisons checks have made so far, in this process.
_made = 0


def compared(count: int = 1) -> None:
    """Note that a check has compared something ``count`` times; one that compares nothing does not pass.

    ``require``, ``refused``, ``finite``, ``same_bits`` and ``matched_gradients`` do this by themselves.
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


def expand(checks: tuple[Check, ...], subject: Any) -> Iterator[Item]:
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


def run(item: Item, expected: Mapping[str, str]) -> Result:
    """Run one item; ``expected`` maps names of checks that may not pass to reasons."""
    start, before = time.perf_counter(), _made
    outcome, detail = Outcome.PASSED, ""
    try:
        detail = item() or ""
    except Skip as skip:
        outcome, detail = Outcome.SKIPPED, str(skip)
    except Failure as failure:
        outcome, detail = Outcome.FAILED, str(failure)
    except Exception as error:
        outcome, detail = Outcome.FAILED, f"{type(error).__name__}: {error}"
    made = _made - before
    if outcome is Outcome.PASSED and not made:
        outcome, detail = Outcome.SKIPPED, "nothing was compared" + (f": {detail}" if detail else "")
    if item.name in expected and outcome is not Outcome.SKIPPED:
        if outcome is Outcome.FAILED:
            outcome, detail = Outcome.EXPECTED, f"{expected[item.name]} ({detail})"
        else:
            outcome, detail = Outcome.FAILED, f"passes, but was expected to fail: {expected[item.name]}"
    return Result(item.name, outcome, detail, time.perf_counter() - start, made)


def require(holds: bool, message: str) -> None:
    """Raise Failure with ``message`` unless ``holds``."""
    compared()
    if not holds:
        raise Failure(message)


def checked_reasons(expected: Mapping[str, str] | None, names: tuple[str, ...]) -> dict[str, str]:
    """The expected failures, each of which must name a check there is and say why it fails."""
    reasons = dict(expected or {})
    for name, reason in reasons.items():
        if not isinstance(reason, str) or not reason.strip():
            raise ValueError(f"expected failure {name!r}: got no reason; say why this check cannot pass")
        if name not in names:
            raise ValueError(f"expected failure {name!r}: there is no such check; there are {', '.join(names)}")
    return reasons
