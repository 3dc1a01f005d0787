"""Conformance suites for plugin authors: models, integrators, renderers and force terms.

``check_model("springs")`` runs all checks and raises AssertionError with all failures; ``parametrize_with_checks``
makes each check a test of pytest; ``check_gradient`` compares any gradient with finite differences.
"""

from diffloom.lazy import lazy_exports

__getattr__, __dir__ = lazy_exports(__name__)
