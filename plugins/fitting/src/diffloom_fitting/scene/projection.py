"""Projection by a real lens and shutter, as positions of vertices for any renderer."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import torch
from torch import Tensor

from diffloom.interfaces import Camera
from diffloom_fitting.scene.sensor import Sensor

#: Number of fixed-point iterations for the row of a point; each reduces the error by the ratio of speed and readout.
ROW_PASSES = 2


def apply_lens_pose(camera: Camera, sensor: Sensor, values: Mapping[str, Tensor]) -> Camera:
    """Return the camera with its roll and the centre of its lens."""
    roll, centre = (sensor.value(name, values, camera.dtype) for name in ("roll", "centre"))
    if roll is not None:
        angle = roll * (math.pi / 180.0)
        c, s, o = torch.cos(angle), torch.sin(angle), torch.zeros_like(angle)
        turn = torch.stack([torch.stack([c, -s, o]), torch.stack([s, c, o]), torch.stack([o, o, o + 1.0])])
        camera = replace(camera, rotation=turn.to(camera.dtype) @ camera.rotation)
    return camera if centre is None else replace(camera, centre=camera.centre + centre.to(camera.dtype))


def transform_to_camera(camera: Camera, points: Tensor) -> Tensor:
    """Transform points to the camera's axes, right, up and back: (frames, n, 3)."""
    eye = camera.eye if camera.eye.dim() == 1 else camera.eye[:, None]
    return (points - eye) @ camera.rotation.transpose(-1, -2)


def distort(place: Tensor, k: Tensor) -> Tensor:
    """Distort x, y at unit depth (right and down) by the model of Brown (1966) and Conrady."""
    x, y = place.unbind(-1)
    k1, k2, p1, p2, k3 = k.unbind(-1)
    r = x * x + y * y
    radial = 1.0 + r * (k1 + r * (k2 + r * k3))
    return torch.stack(
        [
            x * radial + 2.0 * p1 * x * y + p2 * (r + 2.0 * x * x),
            y * radial + p1 * (r + 2.0 * y * y) + 2.0 * p2 * x * y,
        ],
        dim=-1,
    )


def project_points(camera: Camera, points: Tensor, distortion: Tensor | None) -> Tensor:
    """Project points (frames, n, 3) [m] to columns and rows (frames, n, 2) [px]."""
    x, y, z = transform_to_camera(camera, points).unbind(-1)
    # Points behind the camera are invisible; their projection only needs to be finite.
    depth = torch.clamp(-z, min=camera.near)
    place = torch.stack([x / depth, -y / depth], dim=-1)
    if distortion is not None:
        place = distort(place, distortion)
    return camera.centre + camera.focal * place


def bend_points(camera: Camera, points: Tensor, distortion: Tensor) -> Tensor:
    """Move points to where a camera without distortion shows them at their distorted positions."""
    x, y, z = transform_to_camera(camera, points).unbind(-1)
    depth = torch.clamp(-z, min=camera.near)
    place = distort(torch.stack([x / depth, -y / depth], dim=-1), distortion)
    seen = torch.stack([place[..., 0] * depth, -place[..., 1] * depth, z], dim=-1)
    eye = camera.eye if camera.eye.dim() == 1 else camera.eye[:, None]
    return seen @ camera.rotation + eye


def magnify_points(camera: Camera, points: Tensor, factor: Tensor) -> Tensor:
    """Move points to where a camera of constant focal length shows them magnified.

    Args:
        camera: The camera.
        points: (frames, n, 3) [m].
        factor: (frames,), focal length of each frame over that of ``camera``.

    Returns:
        (frames, n, 3) [m].
    """
    x, y, z = transform_to_camera(camera, points).unbind(-1)
    seen = torch.stack([x * factor[:, None], y * factor[:, None], z], dim=-1)
    eye = camera.eye if camera.eye.dim() == 1 else camera.eye[:, None]
    return seen @ camera.rotation + eye


def apply_rolling_shutter(camera: Camera, pairs: Tensor, distortion: Tensor | None) -> Tensor:
    """Interpolate points to the time of their own row.

    Args:
        camera: The camera.
        pairs: (frames, 2, n, 3), points at the times of the first and of the last row.
        distortion: Coefficients of the lens, or None.

    Returns:
        (frames, n, 3).
    """
    first, last = pairs[:, 0], pairs[:, 1]
    seen = 0.5 * (first + last)
    for _ in range(ROW_PASSES):
        share = project_points(camera, seen, distortion)[..., 1:] / camera.height
        seen = first + share * (last - first)
    return seen
