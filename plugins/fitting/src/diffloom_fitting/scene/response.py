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


def weigh_by_coverage(rgba: Tensor) -> Tensor:
    """Light that the surface sends into each pixel: colours times coverage, and the coverage."""
    return torch.cat([rgba[..., 3:] * rgba[..., :3], rgba[..., 3:]], dim=-1)


def respond_to_light(light: Tensor, sensor: Sensor, values: Mapping[str, Tensor]) -> Tensor:
    """Recorded light of the surface: its mean colour in a pixel as the sensor records it, times its coverage.

    Args:
        light: (frames, height, width, 4) what ``weigh_by_coverage`` gives.
        sensor: Sensor that records it.
        values: Values of the camera that are sought.
    """
    gain, gamma = (sensor.value(name, values, light.dtype) for name in ("gain", "gamma"))
    alpha = light[..., 3:]
    if gamma is None:
        return light if gain is None else torch.cat([gain * light[..., :3], alpha], dim=-1)
    seen = alpha > DARK
    colour = torch.where(seen, light[..., :3] / torch.where(seen, alpha, 1.0), 0.0)
    return weigh_by_coverage(apply_response(torch.cat([colour, alpha], dim=-1), sensor, values))


def add_background(light: Tensor, background: Tensor) -> Tensor:
    """Light of a surface (frames, height, width, 4) before an image (height, width, 3) or a colour (3,)."""
    if background.dim() == 1 and not bool(background.any()):
        return light
    alpha = light[..., 3:]
    return torch.cat([light[..., :3] + (1.0 - alpha) * background, alpha], dim=-1)


def averaged(image: Image, count: int) -> Image:
    """Each ``count`` frames as their mean: what is exposed while it moves. Of face indices the middle one is kept."""
    found = {}
    for field in fields(image):
        value = getattr(image, field.name)
        if value is not None:
            groups = value.unflatten(0, (-1, count))
            found[field.name] = groups.mean(dim=1) if value.is_floating_point() else groups[:, count // 2]
    return replace(image, **found)
