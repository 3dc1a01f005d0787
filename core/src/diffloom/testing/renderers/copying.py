"""Renderers go through pickles and copies."""

from __future__ import annotations

import copy
import pickle

from diffloom.testing.checks import check, require
from diffloom.testing.subjects import RendererSubject


@check("copying")
def pickles_and_copies(subject: RendererSubject) -> None:
    """A pickled and a copied renderer equal the original."""
    found = subject.renderer
    require(pickle.loads(pickle.dumps(found)) == found, "a pickled renderer is not equal to the original")
    require(copy.deepcopy(found) == found, "a copied renderer is not equal to the original")


CHECKS = (pickles_and_copies,)
