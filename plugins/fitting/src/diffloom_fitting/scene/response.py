"""Response of a sensor: from light of the surface to recorded colours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace

import torch
from torch import Tensor

from diffloom.interfaces import Image
from diffloom_fitting.scene.sensor import Sensor

#: Smallest colour that is raised to a power, because a power below 1 has no derivative at 0.
DARK = 1e-6


def apply_response(rgba: Tensor, sensor: Sensor, values: Mapping[str, Tensor]) -> Tensor:
    """Apply gain c^gamma to the colours of a surface; coverage is unchanged."""
    gain, gamma = (sensor.value(name, values, rgba.dtype) for name in ("gain", "gamma"))
    if gain is None and gamma is None:
        return rgba
    colour = rgba[..., :3]
    if gamma is not None:
        colour = torch.where(colour > DARK, colour.clamp(min=DARK) ** gamma, torch.zeros_like(colour))
    return torch.cat([colour if gain is None else gain * colour, rgba[..., 3:]], dim=-1)


def lay_over(rgba: Tensor, background: Tensor) -> Tensor:
    """Lay ``rgba``, drawn on black, over an image (height, width, 3) or a colour (3,).

    Colours are weighted by coverage, because a soft rasteriser gives full colour to every pixel that it touches.
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


def average_frames(image: Image, count: int) -> Image:
    """Return the mean of each ``count`` frames; of face indices the middle one."""
    found = {}
    for field in fields(image):
        value = getattr(image, field.name)
        if value is not None:
            groups = value.unflatten(0, (-1, count))
            found[field.name] = groups.mean(dim=1) if value.is_floating_point() else groups[:, count // 2]
    return replace(image, **found)
