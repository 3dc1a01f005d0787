"""Errors of values that are assumed to be known, and the shift of the estimate that they cause."""

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
from diffloom_fitting.validation import check_real

STEP = 1e-3  # step of the central difference, in deviations


def check_assumed(assumed: Mapping[str, float], sought: Mapping[str, object], scene: Scene) -> None:
    """Raise unless each name is a single number of the scene that is not sought, with a deviation above 0."""
    for name, deviation in assumed.items():
        if not can_be_sought(name, scene):
            raise InputError(
                f"assumed.{name}: the scene has nothing called {name!r}{suggest_name(name, list_seekable(scene))}"
            )
        if name in sought:
            raise InputError(f"assumed.{name}: this is an unknown; remove it here and give it a prior (prior.gaussian)")
        check_real(f"assumed.{name}", deviation, above=0.0)
        if (size := _slot(name, scene).size) != 1:
            raise InputError(f"assumed.{name}: got {size} numbers; expected one: name a component, such as {name}.x")


def assumed_shift(objective: Objective, end: Linearised, inverse: Tensor, assumed: Mapping[str, float]) -> Tensor:
    """Return the shift of the estimate, in scaled coordinates, for one deviation of each assumed value.

    The residuals do not show these errors, because the assumed values are not sought. With d the change of the
    residuals by one deviation of an assumed value, the estimate moves by A^-1 J'd. Errors of several values are
    independent.

    Args:
        objective: Objective of the fit.
        end: The linearised end of the fit.
        inverse: (n, n), A^-1.
        assumed: Standard deviation of each assumed value, by name, in its unit.

    Returns:
        (n,), root of the summed squares.
    """
    total = torch.zeros_like(end.size)
    for name, deviation in assumed.items():
        # A small step, because a whole deviation may move the object out of the image.
        ahead, behind = (_residuals(objective, end.z, name, sign * STEP * deviation) for sign in (1.0, -1.0))
        total = total + (inverse @ (end.unit @ ((ahead - behind) / (2.0 * STEP)))).square()
    return total.sqrt()


def _slot(name: str, scene: Scene) -> Slot:
    return resolve([Unknown(name)], scene).slots[0]


def _residuals(objective: Objective, z: Tensor, name: str, step: float) -> Tensor:
    """Return the residuals (N,) at ``z`` with an assumed number changed by ``step``."""
    slot = _slot(name, objective.scene)
    there = slot.space.encode((slot.start + step).reshape(-1), name).to(z.dtype)
    changed = replace(
        objective, layout=UnknownLayout((*objective.layout.slots, slot), objective.layout.dtype), tie=None
    )
    whole = z if objective.tie is None else objective.tie.expand(z)
    with torch.no_grad():
        return torch.cat([field.reshape(-1) for field in changed.residual_fields(torch.cat([whole, there]))])
