"""Models go through pickles and copies and stay what they are."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

from diffloom.testing.checks import Failure, check
from diffloom.testing.comparing import same_bits
from diffloom.testing.subjects import ModelSubject


def same_after(subject: ModelSubject, through: Callable[[Any], Any], verb: str) -> None:
    """Failure unless a fresh and a used model both give the same motion after ``through``."""
    expected = subject.answer(subject.params())
    for state, model in (("fresh", subject.make()), ("used", subject.model)):
        try:
            other = through(model)
        except Exception as error:
            raise Failure(f"a {state} model cannot be {verb}: {type(error).__name__}: {error}") from error
        same_bits(f"motions of a {state} model and the one {verb}", expected, subject.answer(subject.params(), other))


@check("copying")
def pickles(subject: ModelSubject) -> None:
    """A model that went through pickle gives the same motion, used or not."""
    same_after(subject, lambda model: pickle.loads(pickle.dumps(model)), "pickled")


@check("copying")
def copies(subject: ModelSubject) -> None:
    """So does a deep copy."""
    same_after(subject, copy.deepcopy, "copied")


CHECKS = (pickles, copies)
