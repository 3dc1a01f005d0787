"""From the light of the surface to what is recorded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace

import torch
from torch import Tensor

from diffloom.interfaces import Image
from diffloom_fitting.scene.sensor import Sensor

#: Least colour that is raised to a power: at 0 a power below 1 has no slope.
DARK = 1e-6


def apply_response(rgba: Tensor, sensor: Sensor, values: Mapping[str, Tensor]) -> Tensor:
    """Colours of the surface as the sensor records them: gain c^gamma; coverage stays."""
    gain, gamma = (sensor.value(name, values, rgba.dtype) for name in ("gain", "gamma"))
    if gain is None and gamma is None:
        return rgba
    colour = rgba[..., :3]
    if gamma is not None:
        colour = torch.where(colour > DARK, colour.clamp(min=DARK) ** gamma, torch.zeros_like(colour))
    return torch.cat([colour if gain is None else gain * colour, rgba[..., 3:]], dim=-1)


def over(rgba: Tensor, background: Tensor) -> Tensor:
    """``rgba`` drawn on black, laid over an image (height, width, 3) or a colour (3,).

    The colour counts as much as the surface covers: a soft rasteriser paints all that it touches in full, so that
    without this a pixel would switch when an outline comes near it.
    """
    alpha = rgba[..., 3:]
    if background.dim() == 1 and not bool(background.any()):
        return torch.cat([alpha * rgba[..., :3], alpha], dim=-1)
    return torch.cat([alpha * rgba[..., :3] + (1.0 - alpha) * background, alpha], dim=-1)


def averaged(image: Image, count: int) -> Image:
    """Each ``count`` frames as their mean: what is exposed while it moves. Of face indices the middle one is kept."""
    found = {}
    for field in fields(image):
        value = getattr(image, field.name)
        if value is not None:
            groups = value.unflatten(0, (-1, count))
            found[field.name] = groups.mean(dim=1) if value.is_floating_point() else groups[:, count // 2]
    return replace(image, **found)
