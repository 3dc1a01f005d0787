"""Suites of checks, and functions that run them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from diffloom.plugins import current_registry, import_object
from diffloom_testing.kinds import OWN_SUITES, SUITES
from diffloom_testing.results import Check, CheckReport, Item, expand_cases, run_check, validate_reasons
from diffloom_testing.subjects import integrator_subject, model_subject, renderer_subject
from diffloom_testing.term_hosts import term_subject


class Subject(Protocol):
    """A thing under test; the thing itself is the attribute named like ``kind``."""

    @property
    def name(self) -> str:
        """Name of the thing."""

    @property
    def kind(self) -> str:
        """Kind of the thing: "model", "loss", ..."""


@dataclass(frozen=True)
class Suite:
    """Conformance suite of one kind of thing, registered by the hook ``diffloom_register_suites``.

    Args:
        interface: Class from which things of this kind derive.
        subject: Returns a subject for a registered name, a class or an instance.
        checks: Checks in the order in which they run.
    """

    interface: type
    subject: Callable[[Any], Subject]
    checks: tuple[Check, ...]

    def __call__(self, given: Any) -> Subject:
        """Return the subject for a registered name, a class or an instance."""
        return self.subject(given)


def suite_names() -> tuple[str, ...]:
    """Return the kinds that have a suite: those of this package, then those of plugins."""
    registered = SUITES.names() if SUITES in current_registry().kinds else ()
    return (*OWN_SUITES, *(name for name in registered if name not in OWN_SUITES))


def get_suite(kind: str) -> Suite:
    """Return the suite of a kind, given by its singular such as "model".

    Suites of this package work in every registry, also in a registry that a test created without this plugin.
    """
    found: Suite = import_object(OWN_SUITES[kind][0]) if kind in OWN_SUITES else SUITES.get(kind)
    return found


def list_checks(subject: Subject, families: Iterable[str] | None = None) -> tuple[Item, ...]:
    """Return every check on ``subject``, of all families or of some."""
    checks = get_suite(subject.kind).checks
    known = list(dict.fromkeys(each.family for each in checks))
    wanted = known if families is None else list(families)
    unknown = sorted(set(wanted) - set(known))
    if unknown:
        raise ValueError(
            f"families: {', '.join(unknown)} is no family of {subject.kind} checks; expected {', '.join(known)}"
        )
    return tuple(expand_cases(tuple(each for each in checks if each.family in wanted), subject))


def collect_reasons(subject: Subject, given: Mapping[str, str] | None, names: tuple[str, ...]) -> dict[str, str]:
    """Return the given expected failures and those that the class admits in ``expected_failures``."""
    try:
        own = getattr(subject, subject.kind).expected_failures
    except Exception:
        own = {}  # The subject cannot be created; the checks report why.
    # The class may admit failures of a family that does not run now; the caller may not give these.
    admitted = {name: reason for name, reason in validate_reasons(own, tuple(own)).items() if name in names}
    return {**admitted, **validate_reasons(given, names)}


def run_suite(
    subject: Subject, expected_failures: Mapping[str, str] | None = None, families: Iterable[str] | None = None
) -> CheckReport:
    """Run all checks of a subject; failures do not raise.

    Args:
        subject: Result of a suite, such as ``get_suite("model")("springs")``.
        expected_failures: Names of checks that cannot pass, with reasons. If one of them passes, that is a failure.
        families: Families to run; all by default.

    Returns:
        The results of all checks.
    """
    todo = list_checks(subject, families)
    reasons = collect_reasons(subject, expected_failures, tuple(item.name for item in todo))
    return CheckReport(subject.kind, subject.name, tuple(run_check(item, reasons) for item in todo))


def check_model(
    model: Any,
    *,
    settings: Mapping[str, Any] | None = None,
    expected_failures: Mapping[str, str] | None = None,
    families: Iterable[str] | None = None,
) -> CheckReport:
    """Check a physical model on its example.

    Args:
        model: A registered name, a class with ``example()`` and ``example_settings``, or a model.
        settings: Fields of ``ExampleSettings`` to replace.
        expected_failures: Names of checks that cannot pass, with reasons. If one of them passes, that is a failure.
        families: Families to run; all by default.

    Returns:
        The results of all checks.

    Raises:
        AssertionError: A check failed; the message lists all failures.

    Example:
        print(check_model("springs", settings={"steps": 20}, families=["gradients"]))
    """
    return run_suite(model_subject(model, settings), expected_failures, families).raise_if_failed()


def check_integrator(
    integrator: Any, *, expected_failures: Mapping[str, str] | None = None, families: Iterable[str] | None = None
) -> CheckReport:
    """Check an integrator on small systems of each kind.

    Args:
        integrator: A registered name, a class or an instance.
        expected_failures: As in check_model.
        families: As in check_model.

    Returns:
        The results of all checks.

    Raises:
        AssertionError: A check failed; the message lists all failures.
    """
    return run_suite(integrator_subject(integrator), expected_failures, families).raise_if_failed()


def check_renderer(
    renderer: Any, *, expected_failures: Mapping[str, str] | None = None, families: Iterable[str] | None = None
) -> CheckReport:
    """Check a renderer on small scenes, by the claims of its capabilities.

    Args:
        renderer: A registered name, a class or an instance.
        expected_failures: As in check_model.
        families: As in check_model.

    Returns:
        The results of all checks.

    Raises:
        AssertionError: A check failed; the message lists all failures.
    """
    return run_suite(renderer_subject(renderer), expected_failures, families).raise_if_failed()


def check_term(
    term: Any, *, expected_failures: Mapping[str, str] | None = None, families: Iterable[str] | None = None
) -> CheckReport:
    """Check a force term on every installed model that it fits.

    Args:
        term: A registered name, or a class that derives from ``diffloom_mechanics.ForceTerm`` and has
            ``example(context)``, a class method that returns a term that acts on the context's nodes at their start;
            ``claims``, optional, from "conservative" (at rest the force derives from an energy), "dissipative" (the
            part that depends on velocities takes energy away), "momentum" and "angular_momentum" (forces, or torques,
            sum to zero); ``variants``, optional mappings of values, each for the gradients of the parameters in it that
            have no effect in ``example()``.
        expected_failures: As in check_model.
        families: As in check_model.

    Returns:
        The results of all checks.

    Raises:
        AssertionError: A check failed; the message lists all failures.
    """
    return run_suite(term_subject(term), expected_failures, families).raise_if_failed()
