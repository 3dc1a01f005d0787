"""What is put to the test: a loss or an optimiser, however it was given."""

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
    """A loss, made by ``make``."""

    name: str
    make: Callable[[], Loss]
    kind: str = field(default="loss", init=False)

    @cached_property
    def loss(self) -> Loss:
        """The instance that checks share."""
        return self.make()


@dataclass(frozen=True)
class OptimiserSubject:
    """An optimiser, made by ``make``."""

    name: str
    make: Callable[[], Optimiser]
    kind: str = field(default="optimiser", init=False)

    @cached_property
    def optimiser(self) -> Optimiser:
        """The instance that checks share."""
        return self.make()


def loss_subject(given: Any) -> LossSubject:
    """A registered name, a class that needs no arguments, or a loss itself."""
    name, found = (given, get_loss(given)) if isinstance(given, str) else (None, given)
    make = (lambda: copy.deepcopy(found)) if isinstance(found, Loss) else found
    return LossSubject(name or _title(found), make)


def optimiser_subject(given: Any) -> OptimiserSubject:
    """A registered name, a class that needs no arguments, or an optimiser itself."""
    name, found = (given, get_optimiser(given)) if isinstance(given, str) else (None, given)
    make = (lambda: copy.deepcopy(found)) if isinstance(found, Optimiser) else found
    return OptimiserSubject(name or _title(found), make)


def _title(found: Any) -> str:
    return str(found.__name__ if isinstance(found, type) else type(found).__name__)
