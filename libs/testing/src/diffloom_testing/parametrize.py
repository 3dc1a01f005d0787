"""Suites as tests of pytest: one test for each check, case and subject."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from diffloom.plugins import UnknownNameError, current_registry
from diffloom_testing.results import CheckOutcome, CheckReport, CheckResult, Item, run_check, validate_reasons
from diffloom_testing.suites import Subject, collect_reasons, get_suite, list_checks, suite_names

if TYPE_CHECKING:
    import pytest


#: Results of this run of pytest by (kind, name), for the summary at the end.
TALLY: dict[tuple[str, str], list[CheckResult]] = {}


def parametrize_with_checks(
    subjects: Iterable[Any],
    *,
    expected_failures: Mapping[str, str] | None = None,
    families: Iterable[str] | None = None,
) -> pytest.MarkDecorator:
    """Return a decorator for a test function with the arguments ``subject`` and ``check`` and the body ``check()``.

    Each check becomes a test. A check that does not apply is skipped with its reason; one in ``expected_failures`` is a
    strict xfail with its reason.

    Args:
        subjects: Registered names ("springs", or "model springs" if two kinds share the name), classes or instances of
            models, integrators, renderers, losses and optimisers, or classes of terms.
        expected_failures: Names of checks that cannot pass, with reasons.
        families: Families to run; all by default.

    Returns:
        The decorator.

    Example:
        @parametrize_with_checks(["springs"])
        def test_conformance(subject, check):
            check()
    """
    import pytest

    wanted = None if families is None else tuple(families)
    found = [
        (subject, item)
        for given in subjects
        for subject in [find_subject(given)]
        for item in list_checks(subject, wanted)
    ]
    validate_reasons(expected_failures, tuple(item.name for _, item in found))
    parameters = []
    for subject, item in found:
        given = {k: v for k, v in (expected_failures or {}).items() if k == item.name}
        reason = collect_reasons(subject, given, (item.name,)).get(item.name)
        marks = [pytest.mark.xfail(reason=reason, strict=True)] if reason else []
        name = f"{subject.name}-{item.name}"
        parameters.append(pytest.param(subject.name, PytestCheck(item, reason), id=name, marks=marks))
    return pytest.mark.parametrize(("subject", "check"), parameters)


def find_subject(given: Any) -> Subject:
    """Return the subject of a registered name, a class or an instance."""
    if isinstance(given, str):
        return _find_subject(given)
    for kind in suite_names():
        suite = get_suite(kind)
        if isinstance(given, suite.interface) or (isinstance(given, type) and issubclass(given, suite.interface)):
            return suite(given)
    raise TypeError(
        f"{given!r} is neither the name of a {' or a '.join(suite_names())} nor a class or an instance of one"
    )


def _find_subject(given: str) -> Subject:
    """Return the subject of a name, optionally with its kind before it."""
    *kinds, name = given.split()
    registry = current_registry()
    for kind in suite_names():
        defined = registry.kind(kind)
        if defined is not None and kinds in ([], kind.split()) and name in registry.names(defined):
            return get_suite(kind)(name)
    raise UnknownNameError(f"{given!r} is not the name of a {' or a '.join(suite_names())}; see `diffloom plugins`")


class PytestCheck:
    """A check as an argument of a test function, which calls it."""

    def __init__(self, item: Item, reason: str | None = None) -> None:
        self._item, self._reason = item, reason

    def __call__(self) -> None:
        """Run the check; skip or fail the test with the check's message and without the traceback of the suite."""
        import pytest

        __tracebackhide__ = True
        result = run_check(self._item, {})
        expected = self._reason is not None and result.outcome is CheckOutcome.FAILED
        counted = replace(result, outcome=CheckOutcome.EXPECTED) if expected else result
        seen = TALLY.setdefault((self._item.subject.kind, self._item.subject.name), [])
        first = next((r.check for r in seen if r.outcome is CheckOutcome.FAILED and r.detail == result.detail), None)
        seen.append(counted)
        if result.outcome is CheckOutcome.SKIPPED:
            pytest.skip(result.detail)
        if result.outcome is CheckOutcome.FAILED:
            detail = result.detail if first is None else f"fails with the same message as {first}"
            pytest.fail(f"{result.check}: {detail}", pytrace=False)

    def __repr__(self) -> str:
        return self._item.name


def summarise_run() -> list[str]:
    """Return lines with the counts of each subject, and the families skipped as a whole with the reason."""
    reports = [CheckReport(kind, name, tuple(results)) for (kind, name), results in TALLY.items()]
    lines = []
    for report in reports:
        lines.append(report.summary)
        lines += [f"  family {family} skipped: {reason}" for family, reason in report.skipped_families.items()]
    return lines
