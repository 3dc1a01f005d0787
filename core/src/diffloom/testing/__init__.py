"""What plugin authors test their work with: a conformance suite for models, integrators, renderers and force terms.

``check_model("springs")`` runs all checks and raises with all failures; ``parametrize_with_checks`` makes one test of
each for pytest; ``check_gradient`` compares any gradient with finite differences.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from diffloom.testing.gradients import Comparison, check_gradient, compare_gradient
    from diffloom.testing.parametrize import parametrize_with_checks
    from diffloom.testing.results import Outcome, Report, Result
    from diffloom.testing.suites import check_integrator, check_model, check_renderer, check_term
    from diffloom.testing.wide import WideComparison, compare_wide

_HOMES = {
    "gradients": ("Comparison", "check_gradient", "compare_gradient"),
    "parametrize": ("parametrize_with_checks",),
    "results": ("Outcome", "Report", "Result"),
    "suites": ("check_integrator", "check_model", "check_renderer", "check_term"),
    "wide": ("WideComparison", "compare_wide"),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Comparison",
    "Outcome",
    "Report",
    "Result",
    "WideComparison",
    "check_gradient",
    "check_integrator",
    "check_model",
    "check_renderer",
    "check_term",
    "compare_gradient",
    "compare_wide",
    "parametrize_with_checks",
]


def __getattr__(name: str) -> Any:
    # Imported when asked for: the pytest plugin of this package must not bring torch into every test run.
    if name in _HOME:
        return getattr(import_module(f"diffloom.testing.{_HOME[name]}"), name)
    raise AttributeError(f"module 'diffloom.testing' has no attribute {name!r}")
