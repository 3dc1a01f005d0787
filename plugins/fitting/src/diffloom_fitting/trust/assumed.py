"""What is taken as known and is not quite: how far an error of it would move what is found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import torch
from torch import Tensor

from diffloom.interfaces import InputError
from diffloom.validation import suggest_name
from diffloom_fitting.objective import Objective
from diffloom_fitting.scene import Scene, list_seekable
from diffloom_fitting.trust.linearised import Linearised
from diffloom_fitting.unknowns import Slot, Unknown, UnknownLayout, can_be_sought, resolve
from diffloom_fitting.validation import real

STEP = 1e-3  # of a deviation


def check_assumed(assumed: Mapping[str, float], sought: Mapping[str, object], scene: Scene) -> None:
    """Raise unless each name is a number of the scene that is not sought, with a deviation above 0."""
    for name, deviation in assumed.items():
        if not can_be_sought(name, scene):
            raise InputError(
                f"assumed.{name}: the scene has nothing called {name!r}{suggest_name(name, list_seekable(scene))}"
            )
        if name in sought:
            raise InputError(f"assumed.{name}: this is sought; what is known of it beforehand is a prior")
        real(f"assumed.{name}", deviation, above=0.0)
        if (size := _slot(name, scene).size) != 1:
            raise InputError(f"assumed.{name}: this is {size} numbers; name one of them, such as {name}.x")


def assumed_shift(objective: Objective, end: Linearised, inverse: Tensor, assumed: Mapping[str, float]) -> Tensor:
    """(n,): how far the estimate, in scaled coordinates, moves with one deviation of everything that is assumed.

    What no residual tells, since it is not sought: with d the residuals' change by a deviation of an assumed number,
    the estimate moves by A^-1 J'd. Errors of several numbers are independent. inverse: (n, n).
    """
    total = torch.zeros_like(end.size)
    for name, deviation in assumed.items():
        # A whole deviation may move the object out of the image: slopes say what a fit would make up for.
        ahead, behind = (_residuals(objective, end.z, name, sign * STEP * deviation) for sign in (1.0, -1.0))
        total = total + (inverse @ (end.unit @ ((ahead - behind) / (2.0 * STEP)))).square()
    return total.sqrt()


def _slot(name: str, scene: Scene) -> Slot:
    return resolve([Unknown(name)], scene).slots[0]


def _residuals(objective: Objective, z: Tensor, name: str, step: float) -> Tensor:
    """(N,): the residuals at ``z`` with an assumed number changed by ``step``."""
    slot = _slot(name, objective.scene)
    there = slot.space.encode((slot.start + step).reshape(-1), name).to(z.dtype)
    changed = replace(
        objective, layout=UnknownLayout((*objective.layout.slots, slot), objective.layout.dtype), tie=None
    )
    whole = z if objective.tie is None else objective.tie.expand(z)
    with torch.no_grad():
        return torch.cat([field.reshape(-1) for field in changed.residual_fields(torch.cat([whole, there]))])
