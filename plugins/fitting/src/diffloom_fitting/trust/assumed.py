"""Tolerances that the user states: numbers, shares such as "2 %", "exact" and "seek"."""

from __future__ import annotations

import re
from collections.abc import Mapping

import torch

from diffloom.interfaces import InputError
from diffloom.validation import suggest_name
from diffloom_fitting.priors import Gaussian
from diffloom_fitting.scene import Scene, list_seekable
from diffloom_fitting.targets.several import AnyTarget
from diffloom_fitting.trust.tolerances import RULER, Assumption, list_known, normalise
from diffloom_fitting.unknowns import Slot, Unknown, can_be_sought, resolve
from diffloom_fitting.validation import check_real

ALL = "all"  # stands for everything that has a default tolerance
EXACT, SEEK = "exact", "seek"
_SHARE = re.compile(r"\s*(\d+\.?\d*|\.\d+)\s*%\s*")


def parse_assumed(assumed: Mapping[str, float | str], scene: Scene, target: AnyTarget) -> dict[str, float | str]:
    """Return stated tolerances as numbers in units, "exact" or "seek".

    Args:
        assumed: Tolerance of each number by name: its standard deviation in its unit, a share such as "2 %", "exact"
            to take it as known exactly, or "seek" to seek it with its default tolerance as prior.
        scene: The scene.
        target: The target.

    Returns:
        The checked tolerances by name.

    Raises:
        InputError: A name is not known, or a tolerance cannot be used.
    """
    if not assumed:
        return {}
    known = list_known(scene, target)
    return {name: _parse(name, value, scene, known) for name, value in assumed.items()}


def _parse(name: str, value: float | str, scene: Scene, known: list[Assumption]) -> float | str:
    named = [one for one in known if normalise(name) in (one.name, one.whole or RULER)]
    if name == ALL and value == EXACT:
        return EXACT
    if not named and not can_be_sought(name, scene):
        raise InputError(
            f"assumed.{name}: the scene has nothing called {name!r}{suggest_name(name, list_seekable(scene))}"
        )
    if value == EXACT:
        return EXACT
    if value == SEEK:
        if not can_be_sought(name, scene):
            raise InputError(f'assumed.{name}: this cannot be sought; give its tolerance, or "exact"')
        return SEEK
    if isinstance(value, str):
        share = _SHARE.fullmatch(value)
        if share is None:
            raise InputError(f'assumed.{name}: got {value!r}; expected a number, "2 %", "exact" or "seek"')
        size = abs(named[0].value) if named else abs(float(_slot(name, scene).start))
        value = 0.01 * float(share[1]) * size
    check_real(f"assumed.{name}", value, above=0.0)
    if len(named) != 1 and (size := _slot(name, scene).size) != 1:
        raise InputError(f"assumed.{name}: got {size} numbers; expected one: name a component, such as {name}.x")
    return float(value)


def refuse_sought(assumed: Mapping[str, float | str], sought: Mapping[str, object]) -> None:
    """Raise if a number with a tolerance is an unknown.

    Args:
        assumed: Tolerances by name.
        sought: Unknowns by name.
    """
    for name, value in assumed.items():
        if name in sought and value != SEEK:
            raise InputError(f"assumed.{name}: this is an unknown; remove it here and give it a prior (prior.gaussian)")


def seek_assumed(
    assumed: Mapping[str, float | str], unknowns: list[Unknown], gaussian: Gaussian | None, scene: Scene,
    target: AnyTarget,
) -> tuple[list[Unknown], Gaussian | None]:  # fmt: skip
    """Add what shall be sought to the unknowns, with its default tolerance as prior.

    Args:
        assumed: Tolerances by name.
        unknowns: Unknowns of the fit.
        gaussian: Prior of the fit, or None.
        scene: The scene.
        target: The target.

    Returns:
        Unknowns and prior.
    """
    wanted = {name for name, value in assumed.items() if value == SEEK} - {unknown.name for unknown in unknowns}
    known = list_known(scene, target) if wanted else []
    for name in sorted(wanted):
        slot = _slot(name, scene)
        parts = [one for one in known if normalise(name) in (one.name, one.whole)]
        parts = [one for one in known if one.name == RULER] if name == "appearance.size" else parts
        if not parts:
            raise InputError(f"assumed.{name}: this has no default tolerance; seek it with a prior (prior.gaussian)")
        deviation = [one.tolerance for one in parts] if len(parts) == slot.size else [parts[0].tolerance] * slot.size
        width = torch.tensor(deviation).reshape(slot.shape).tolist()
        means = {} if gaussian is None else dict(gaussian.means)
        deviations = {} if gaussian is None else dict(gaussian.deviations)
        noise = 0.01 if gaussian is None else gaussian.noise
        gaussian = Gaussian({**means, name: slot.start.tolist()}, {**deviations, name: width}, noise)
        unknowns = [*unknowns, Unknown(name)]
    return unknowns, gaussian


def _slot(name: str, scene: Scene) -> Slot:
    return resolve([Unknown(name)], scene).slots[0]
