"""The suite as tests of pytest: one item for each check, case and subject."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from diffloom.interfaces import ForceTerm, Integrator, Model, Renderer
from diffloom.plugins import UnknownNameError, current_registry
from diffloom.plugins.entry import import_object
from diffloom.plugins.kinds import INTEGRATORS, LOSSES, MODELS, OPTIMISERS, RENDERERS, TERMS
from diffloom.testing.checks import Item, checked_reasons, run
from diffloom.testing.results import Outcome, Report, Result
from diffloom.testing.subjects import integrator_subject, model_subject, renderer_subject
from diffloom.testing.suites import Subject, items, reasons_for
from diffloom.testing.term_hosts import term_subject

if TYPE_CHECKING:
    import pytest


def _elsewhere(path: str) -> Callable[[Any], Subject]:
    """A maker of subjects that another distribution brings along with their suite."""

    def make(given: Any) -> Subject:
        made: Subject = import_object(path)(given)
        return made

    return make


MAKERS: dict[str, Callable[[Any], Subject]] = {
    "model": model_subject,
    "integrator": integrator_subject,
    "renderer": renderer_subject,
    "term": term_subject,
    "loss": _elsewhere("diffloom_fitting.testing:loss_subject"),
    "optimiser": _elsewhere("diffloom_fitting.testing:optimiser_subject"),
}
ANY = "a model, an integrator, a renderer, a term, a loss or an optimiser"
#: Results of this run of pytest by (kind, name), for the summary at its end.
TALLY: dict[tuple[str, str], list[Result]] = {}
INTERFACES: dict[str, type] = {"model": Model, "integrator": Integrator, "renderer": Renderer, "term": ForceTerm}
#: Interfaces that another distribution brings, by its package.
FURTHER = {"loss": ("diffloom_fitting", "Loss"), "optimiser": ("diffloom_fitting", "Optimiser")}


def parametrize_with_checks(
    subjects: Iterable[Any],
    *,
    expected_failures: Mapping[str, str] | None = None,
    families: Iterable[str] | None = None,
) -> pytest.MarkDecorator:
    """Decorates a test function with the arguments ``subject`` and ``check``, whose body is ``check()``.

    subjects: registered names ("springs"; "model springs" where a name is taken twice), classes or instances of
    models, integrators, renderers, losses and optimisers, or classes of terms. Each check becomes a test of its own;
    one that does not apply is skipped with its reason, one in ``expected_failures`` is a strict xfail with its reason.
    """
    import pytest

    wanted = None if families is None else tuple(families)
    found = [
        (subject, item) for given in subjects for subject in [subject_of(given)] for item in items(subject, wanted)
    ]
    checked_reasons(expected_failures, tuple(item.name for _, item in found))
    parameters = []
    for subject, item in found:
        given = {k: v for k, v in (expected_failures or {}).items() if k == item.name}
        reason = reasons_for(subject, given, (item.name,)).get(item.name)
        marks = [pytest.mark.xfail(reason=reason, strict=True)] if reason else []
        name = f"{subject.name}-{item.name}"
        parameters.append(pytest.param(subject.name, PytestCheck(item, reason), id=name, marks=marks))
    return pytest.mark.parametrize(("subject", "check"), parameters)


def subject_of(given: Any) -> Subject:
    """The subject of a registered name, a class or an instance."""
    if isinstance(given, str):
        return _named(given)
    for kind, interface in _interfaces().items():
        if isinstance(given, interface) or (isinstance(given, type) and issubclass(given, interface)):
            return MAKERS[kind](given)
    raise TypeError(f"{given!r} is neither the name of {ANY}, nor one of these")


def _interfaces() -> dict[str, type]:
    """All interfaces there are. What derives from one of another package has imported that package."""
    further = {kind: getattr(sys.modules[home], name) for kind, (home, name) in FURTHER.items() if home in sys.modules}
    return INTERFACES | further


def _named(given: str) -> Subject:
    *kinds, name = given.split()
    registry = current_registry()
    for kind in (MODELS, INTEGRATORS, RENDERERS, TERMS, LOSSES, OPTIMISERS):
        if (not kinds or kinds == [kind.singular]) and name in registry.names(kind):
            return MAKERS[kind.singular](name)
    raise UnknownNameError(f"{given!r} is not the name of {ANY}; see `diffloom plugins`")


class PytestCheck:
    """A check as the test function gets it: call it."""

    def __init__(self, item: Item, reason: str | None = None) -> None:
        self._item, self._reason = item, reason

    def __call__(self) -> None:
        """Run the check; skips and failures are told to pytest in words, without the suite's own traceback."""
        import pytest

        __tracebackhide__ = True
        result = run(self._item, {})
        expected = self._reason is not None and result.outcome is Outcome.FAILED
        counted = replace(result, outcome=Outcome.EXPECTED) if expected else result
        seen = TALLY.setdefault((self._item.subject.kind, self._item.subject.name), [])
        first = next((r.check for r in seen if r.outcome is Outcome.FAILED and r.detail == result.detail), None)
        seen.append(counted)
        if result.outcome is Outcome.SKIPPED:
            pytest.skip(result.detail)
        if result.outcome is Outcome.FAILED:
            detail = result.detail if first is None else f"for the same cause as {first}"
            pytest.fail(f"{result.check}: {detail}", pytrace=False)

    def __repr__(self) -> str:
        return self._item.name


def tally() -> list[str]:
    """What this run of pytest checked: counts of each subject, and families skipped as a whole with the reason."""
    reports = [Report(kind, name, tuple(results)) for (kind, name), results in TALLY.items()]
    lines = []
    for report in reports:
        lines.append(report.summary)
        lines += [f"  family {family} skipped: {reason}" for family, reason in report.skipped_families.items()]
    return lines
