"""Targets made by ourselves, from true values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from diffloom.interfaces import NoGradient
from diffloom_fitting.targets.target import Target

if TYPE_CHECKING:
    from diffloom_fitting.scene import Scene


def synthesise(
    scene: Scene, truth: Mapping[str, object], times: Tensor | None = None, *, rate: float | None = None,
    levels: int | None = None,
) -> Target:  # fmt: skip
    """The film of ``scene`` with the ``truth`` put in: pictures with coverage, masks and states.

    truth: true values by name, in their units. times: (frames,) [s]; or rate: frames a second; every step when neither
    is given. levels: 255 rounds the pictures as an 8-bit film would; None keeps them exact. To draw the target with
    another renderer than the fit's, pass ``scene.with_renderer(other)``.
    """
    if times is None:
        per_second = 1.0 / scene.dt if rate is None else rate
        count = int(scene.steps * scene.dt * per_second * (1.0 + 1e-12)) + 1
        times = torch.arange(count, dtype=torch.float64) / per_second
    values = true_values(scene, truth)
    with torch.no_grad():
        view = scene.film(values, times, ("rgba",), NoGradient())
    assert view.image is not None
    assert view.image.rgba is not None
    frames = view.image.rgba
    if levels is not None:
        frames = (frames.clamp(0.0, 1.0) * levels).round() / levels
    return Target(
        times, frames, frames[..., 3], view.q, truth=values, step=0.0 if levels is None else 1.0 / levels,
        source=f"synthesised with {type(scene.renderer).__name__}",
    )  # fmt: skip


def true_values(scene: Scene, truth: Mapping[str, object]) -> dict[str, Tensor]:
    """``truth`` as tensors of the scene's precision; the model's own parameters are checked against their specs."""
    own = {spec.name for spec in scene.model.specs}
    checked = scene.model.params(scene.dtype, **{k: v for k, v in truth.items() if k in own})
    others = {k: torch.as_tensor(v, dtype=scene.dtype) for k, v in truth.items() if k not in own}
    return {k: checked[k] for k in truth if k in own} | others
