"""Integrators go through pickles and copies."""

from __future__ import annotations

import copy
import pickle

from diffloom.testing.checks import check, require
from diffloom.testing.subjects import IntegratorSubject


@check("copying")
def pickles_and_copies(subject: IntegratorSubject) -> None:
    """A pickled and a copied integrator equal the original."""
    found = subject.integrator
    require(pickle.loads(pickle.dumps(found)) == found, "a pickled integrator is not equal to the original")
    require(copy.deepcopy(found) == found, "a copied integrator is not equal to the original")


CHECKS = (pickles_and_copies,)
