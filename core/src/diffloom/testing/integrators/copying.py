"""Integrators go through pickles and copies."""

from __future__ import annotations

from diffloom.testing.checks import check
from diffloom.testing.settings_objects import equal_copies
from diffloom.testing.subjects import IntegratorSubject


@check("copying")
def pickles_and_copies(subject: IntegratorSubject) -> None:
    """A pickled and a copied integrator equal the original."""
    equal_copies(subject.integrator)


CHECKS = (pickles_and_copies,)
