"""Whether the physics step is short enough: what halving it changes."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace

import torch
from torch import Tensor

from diffloom.interfaces import SimulationError
from diffloom_fitting.objective import Objective
from diffloom_fitting.scene import Rollouts, Scene
from diffloom_fitting.trust.step_growth import growth_of_changes

FARTHER = 2.0  # times: a scene whose size halving changes by so much is not simulated but blown up


def halved(scene: Scene) -> Scene | None:
    """The scene in twice as many steps of half the length; None where inputs per step tie it to its steps."""
    if len(scene.control) or scene.policy is not None:
        return None
    return replace(scene, dt=0.5 * scene.dt, steps=2 * scene.steps)


def refuse_long_steps(scene: Scene, values: Mapping[str, Tensor], rollouts: Rollouts | None = None) -> None:
    """Raise SimulationError when the motion under steps of dt goes much farther than under dt / 2, or much less far.

    Of a model that suggests a step, such as a world, also warn when small changes grow from step to step: the motion
    may still look right, and its gradient is lost. rollouts: where the simulation is to be remembered.
    """
    finer = halved(scene)
    if finer is None or any(name.startswith("control.") for name in values):
        return
    try:
        reached = [_extent(each, values, rollouts or Rollouts()) for each in (scene, finer)]
    except SimulationError:
        return  # who simulates it next is told why
    small, large = min(reached), max(reached)
    if large > FARTHER * small and large > 1e-6:
        raise SimulationError(
            f"dt = {scene.dt:g} s is too long: the motion spans {reached[0]:.3g} m, and {reached[1]:.3g} m with half "
            f"that step; use a smaller dt{_suggestion(scene, values)}"
        )
    grows = growth_of_changes(scene, values) if hasattr(scene.model, "suggested_dt") else None
    if grows is not None:
        warnings.warn(
            f"dt = {scene.dt:g} s is too long for the motion near {grows[0]:.3g} s: small changes flip and become "
            f"{grows[1]:.2g} times as large with every step, and gradients say nothing; use a smaller "
            f"dt{_suggestion(scene, values)}",
            stacklevel=3,
        )


def residuals_of_half_steps(objective: Objective, z: Tensor) -> Tensor | None:
    """(N,): the residuals at ``z`` with half the step; None where it cannot be halved or is not to be judged: a video
    that was synthesised with the same steps errs as the fit does."""
    if all(target.source.startswith("synthesised") for target in objective.target.by_view().values()):
        return None
    finer = halved(objective.scene)
    if finer is None or any(slot.name.startswith("control.") for slot in objective.layout.slots):
        return None
    try:
        fields = replace(objective, scene=finer).residual_fields(z)
    except SimulationError:
        return None
    return torch.cat([field.reshape(-1) for field in fields])


def _extent(scene: Scene, values: Mapping[str, Tensor], rollouts: Rollouts) -> float:
    """The largest side of the box that the surface's vertices pass through [m], at about 20 moments."""
    save = tuple(sorted({round(scene.steps * k / 20) for k in range(21)}))
    with torch.no_grad():
        made = rollouts.without_gradient(scene, values, save)
        vertices = scene.model.surface(made.trajectory, made.params).vertices.reshape(-1, 3)
    return float((vertices.max(dim=0).values - vertices.min(dim=0).values).max())


def _suggestion(scene: Scene, values: Mapping[str, Tensor]) -> str:
    suggest = getattr(scene.model, "suggested_dt", None)
    if suggest is None:
        return ""
    return f', such as the {float(suggest(scene.params_with(values))):.2g} s that the model suggests (dt = "auto")'
