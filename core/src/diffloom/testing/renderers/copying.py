"""Renderers go through pickles and copies."""

from __future__ import annotations

from diffloom.testing.checks import check
from diffloom.testing.settings_objects import equal_copies
from diffloom.testing.subjects import RendererSubject


@check("copying")
def pickles_and_copies(subject: RendererSubject) -> None:
    """A pickled and a copied renderer equal the original."""
    equal_copies(subject.renderer)


CHECKS = (pickles_and_copies,)
