"""Subjects of conformance checks: a loss or an optimiser, given in any form."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from diffloom_fitting import get_loss, get_optimiser
from diffloom_fitting.losses import Loss
from diffloom_fitting.optimisers import Optimiser


@dataclass(frozen=True)
class LossSubject:
    """A loss under test.

    Args:
        name: Name in reports.
        make: Factory of the loss.
    """

    name: str
    make: Callable[[], Loss]
    kind: str = field(default="loss", init=False)

    @cached_property
    def loss(self) -> Loss:
        """Instance that the checks share."""
        return self.make()


@dataclass(frozen=True)
class OptimiserSubject:
    """An optimiser under test.

    Args:
        name: Name in reports.
        make: Factory of the optimiser.
    """

    name: str
    make: Callable[[], Optimiser]
    kind: str = field(default="optimiser", init=False)

    @cached_property
    def optimiser(self) -> Optimiser:
        """Instance that the checks share."""
        return self.make()


def loss_subject(given: Any) -> LossSubject:
    """Return the subject of a loss.

    Args:
        given: A registered name, a class that needs no arguments, or a loss.

    Returns:
        The subject.
    """
    name, found = (given, get_loss(given)) if isinstance(given, str) else (None, given)
    make = (lambda: copy.deepcopy(found)) if isinstance(found, Loss) else found
    return LossSubject(name or _title(found), make)


def optimiser_subject(given: Any) -> OptimiserSubject:
    """Return the subject of an optimiser.

    Args:
        given: A registered name, a class that needs no arguments, or an optimiser.

    Returns:
        The subject.
    """
    name, found = (given, get_optimiser(given)) if isinstance(given, str) else (None, given)
    make = (lambda: copy.deepcopy(found)) if isinstance(found, Optimiser) else found
    return OptimiserSubject(name or _title(found), make)


def _title(found: Any) -> str:
    return str(found.__name__ if isinstance(found, type) else type(found).__name__)
