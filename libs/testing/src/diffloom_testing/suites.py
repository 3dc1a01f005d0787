"""The suites, and running them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from diffloom.plugins import current_registry, import_object
from diffloom_testing.kinds import OWN_SUITES, SUITES
from diffloom_testing.results import Check, CheckReport, Item, expand_cases, run, validate_reasons
from diffloom_testing.subjects import integrator_subject, model_subject, renderer_subject
from diffloom_testing.term_hosts import term_subject


class Subject(Protocol):
    """What is put to the test. kind: "model", "loss", ...; under an attribute of that name it has the thing itself."""

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def kind(self) -> str:
        """Of what kind it is."""


@dataclass(frozen=True)
class Suite:
    """Conformance suite of one kind of thing, registered by the hook ``diffloom_register_suites``.

    Args:
        interface: Class that things of this kind derive from.
        subject: Makes a subject of a registered name, a class or an instance.
        checks: Checks in the order in which they run.
    """

    interface: type
    subject: Callable[[Any], Subject]
    checks: tuple[Check, ...]

    def __call__(self, given: Any) -> Subject:
        """Return the subject for a registered name, a class or an instance."""
        return self.subject(given)


def suite_names() -> tuple[str, ...]:
    """Return the kinds that have a suite: those of this package, then those that plugins registered."""
    registered = SUITES.names() if SUITES in current_registry().kinds else ()
    return (*OWN_SUITES, *(name for name in registered if name not in OWN_SUITES))


def get_suite(kind: str) -> Suite:
    """Return the suite of a kind, given by its singular such as "model".

    Those of this package work in every registry, also where a test put one in force without this plugin.
    """
    found: Suite = import_object(OWN_SUITES[kind][0]) if kind in OWN_SUITES else SUITES.get(kind)
    return found


def items(subject: Subject, families: Iterable[str] | None = None) -> tuple[Item, ...]:
    """Every check on ``subject``, of all families or of some."""
    checks = get_suite(subject.kind).checks
    known = list(dict.fromkeys(each.family for each in checks))
    wanted = known if families is None else list(families)
    unknown = sorted(set(wanted) - set(known))
    if unknown:
        raise ValueError(
            f"there is no family {', '.join(unknown)} of {subject.kind} checks; there are {', '.join(known)}"
        )
    return tuple(expand_cases(tuple(each for each in checks if each.family in wanted), subject))


def collect_reasons(subject: Subject, given: Mapping[str, str] | None, names: tuple[str, ...]) -> dict[str, str]:
    """Expected failures that were given, and those that the class itself admits in ``expected_failures``."""
    try:
        own = getattr(subject, subject.kind).expected_failures
    except Exception:
        own = {}  # It cannot even be made; the checks say why.
    # What the class admits may belong to a family that is not run now; what the caller gives may not.
    admitted = {name: reason for name, reason in validate_reasons(own, tuple(own)).items() if name in names}
    return {**admitted, **validate_reasons(given, names)}


def run_suite(
    subject: Subject, expected_failures: Mapping[str, str] | None = None, families: Iterable[str] | None = None
) -> CheckReport:
    """Run all checks of ``subject`` and report; nothing is raised for a failure."""
    todo = items(subject, families)
    reasons = collect_reasons(subject, expected_failures, tuple(item.name for item in todo))
    return CheckReport(subject.kind, subject.name, tuple(run(item, reasons) for item in todo))


def check_model(
    model: Any,
    *,
    settings: Mapping[str, Any] | None = None,
    expected_failures: Mapping[str, str] | None = None,
    families: Iterable[str] | None = None,
) -> CheckReport:
    """Check a physical model; raises AssertionError that lists all failures.

    model: a registered name, a class, or a model itself. It is checked on its example: a class offers
    ``example() -> Model`` and ``example_settings``, an ``ExampleSettings``.

    ``settings`` exchanges fields of these. expected_failures: names of checks that cannot pass, each with its reason;
    one that passes after all is a failure. families: run only these.
    """
    return run_suite(model_subject(model, settings), expected_failures, families).raise_if_failed()


def check_integrator(
    integrator: Any, *, expected_failures: Mapping[str, str] | None = None, families: Iterable[str] | None = None
) -> CheckReport:
    """Check an integrator (a registered name, a class or an instance) on small systems of each kind; raises
    AssertionError that lists all failures. The other arguments are those of check_model."""
    return run_suite(integrator_subject(integrator), expected_failures, families).raise_if_failed()


def check_renderer(
    renderer: Any, *, expected_failures: Mapping[str, str] | None = None, families: Iterable[str] | None = None
) -> CheckReport:
    """Check a renderer (a registered name, a class or an instance) on small scenes, by what its capabilities claim;
    raises AssertionError that lists all failures. The other arguments are those of check_model."""
    return run_suite(renderer_subject(renderer), expected_failures, families).raise_if_failed()


def check_term(
    term: Any, *, expected_failures: Mapping[str, str] | None = None, families: Iterable[str] | None = None
) -> CheckReport:
    """Check a force term on every installed model that it fits; raises AssertionError that lists all failures.

    term: a registered name, or a class that derives from ``diffloom_mechanics.ForceTerm`` and has

    - example(context) -> ForceTerm, a class method: a term that acts on the nodes of the context where they start.
    - claims, optional: of "conservative" (at rest the force derives from an energy), "dissipative" (what velocities add
      takes energy away), "momentum" and "angular_momentum" (forces, or torques, add up to nothing).
    - variants, optional: mappings of values, each for the gradients of the parameters it names, where example() does
      not show them.

    The other arguments are those of check_model.
    """
    return run_suite(term_subject(term), expected_failures, families).raise_if_failed()
