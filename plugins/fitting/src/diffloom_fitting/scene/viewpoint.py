"""Viewpoints: cameras of a scene with their own video and clock."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from diffloom.interfaces import Camera, InputError
from diffloom_fitting.scene.moving import MovingCamera
from diffloom_fitting.scene.placement import CameraPlacement
from diffloom_fitting.scene.sensor import Sensor
from diffloom_fitting.validation import check_real, describe_value

CAMERA = "scene.camera"
AnyCamera = Camera | CameraPlacement | MovingCamera


@dataclass(frozen=True)
class Viewpoint:
    """A camera with its own video.

    Args:
        camera: A ``CameraPlacement`` such as ``Orbit`` (whose position can be sought), any ``Camera``, or a
            ``MovingCamera``.
        time_offset: The frame at time t of the video shows the scene at t + time_offset of the simulation [s].
        background: (height, width, 3), image behind the surface in this video; None for the scene's.
        sensor: Lens, shutter and response to light.
    """

    camera: AnyCamera
    time_offset: float = 0.0
    background: Tensor | None = None
    sensor: Sensor = field(default_factory=Sensor)

    def __post_init__(self) -> None:
        if not isinstance(self.camera, Camera | CameraPlacement | MovingCamera):
            raise InputError(
                f"{CAMERA}: got {describe_value(self.camera)}; expected a camera, such as Orbit(distance=3.0)"
            )
        object.__setattr__(self, "time_offset", check_real("Viewpoint.time_offset [s]", self.time_offset))

    @property
    def size(self) -> tuple[int, int]:
        """Height and width of its images [px]."""
        camera = self.camera.camera if isinstance(self.camera, MovingCamera) else self.camera
        return camera.size if isinstance(camera, CameraPlacement) else (camera.height, camera.width)

    @property
    def far(self) -> float:
        """Depth up to which depths are normalised [m]."""
        if isinstance(self.camera, CameraPlacement):
            return self.camera.camera(torch.float64, times=torch.zeros(1)).far
        return (self.camera.camera if isinstance(self.camera, MovingCamera) else self.camera).far


Cameras = AnyCamera | Viewpoint | Mapping[str, AnyCamera | Viewpoint]


def camera_prefix(label: str) -> str:
    """Return the prefix of a camera's unknowns, such as "camera.side.".

    Args:
        label: Label of the camera; "" for a single one.

    Returns:
        The prefix.
    """
    return f"camera.{label}." if label else "camera."


def viewpoints_of(camera: Cameras) -> dict[str, Viewpoint]:
    """Return viewpoints by label; a single camera has the label ""."""
    if isinstance(camera, Sequence):
        raise InputError(
            f"{CAMERA}: got a list of {len(camera)}; expected one camera, or several by label, such as "
            '{"front": Orbit(), "side": Orbit(azimuth=90.0)}'
        )
    if not isinstance(camera, Mapping):
        return {"": camera if isinstance(camera, Viewpoint) else Viewpoint(camera)}
    if not camera:
        raise InputError("scene.camera: got no cameras; expected one, or several by label")
    for label in camera:
        if not isinstance(label, str) or not label or not label.replace("_", "").replace("-", "").isalnum():
            raise InputError(
                f"scene.camera: got the label {label!r}; expected letters, digits, - and _, such as 'front'"
            )
    return {label: one if isinstance(one, Viewpoint) else Viewpoint(one) for label, one in camera.items()}
