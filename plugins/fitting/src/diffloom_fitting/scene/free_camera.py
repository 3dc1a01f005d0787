"""Camera of any position and orientation."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from diffloom.interfaces import Camera, InputError, ParamSpec
from diffloom_fitting.scene.placement import CameraPlacement
from diffloom_fitting.validation import check_numbers, check_real, check_size


@dataclass(frozen=True)
class FreeCamera(CameraPlacement):
    """Camera of any position and orientation. It looks along -z, turned left by yaw, then up by pitch.

    Args:
        eye: Position [m].
        yaw: Angle to the left [deg].
        pitch: Angle up [deg].
        focal: Focal length [px].
        size: (height, width) of its images [px].
        near: Nearest depth that is drawn [m].
        far: Depth up to which depths are normalised [m].
    """

    eye: tuple[float, float, float] = (0.0, 0.0, 3.0)
    yaw: float = 0.0
    pitch: float = 0.0
    focal: float = 256.0
    size: tuple[int, int] = (256, 256)
    near: float = 0.1
    far: float = 100.0

    def __post_init__(self) -> None:
        checked = {
            "eye": check_numbers("FreeCamera.eye [m]", self.eye, 3),
            "yaw": check_real("FreeCamera.yaw [deg]", self.yaw),
            "pitch": check_real("FreeCamera.pitch [deg]", self.pitch),
            "focal": check_real("FreeCamera.focal [px]", self.focal, above=0.0),
            "size": check_size("FreeCamera.size", self.size),
        }
        if not 0.0 < self.near < self.far:
            raise InputError(f"FreeCamera: got near={self.near:g} and far={self.far:g} m; expected 0 < near < far")
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    @property
    def specs(self) -> tuple[ParamSpec, ...]:
        return (
            ParamSpec("eye", self.eye, "m", "where it stands", (3,)),
            ParamSpec("yaw", self.yaw, "deg", "to the left; 0 looks along -z"),
            ParamSpec("pitch", self.pitch, "deg", "up"),
            ParamSpec("focal", self.focal, "px", "focal length", bounds=(0.0, None)),
        )

    def camera(
        self, dtype: torch.dtype, values: Mapping[str, Tensor] | None = None, times: Tensor | None = None
    ) -> Camera:
        given = {"eye": self.eye, "yaw": self.yaw, "pitch": self.pitch, "focal": self.focal} | dict(values or {})
        eye, yaw, pitch, focal = (torch.as_tensor(given[name], dtype=dtype) for name in given)
        y, p = yaw * (math.pi / 180.0), pitch * (math.pi / 180.0)
        cy, sy, cp, sp, o = torch.cos(y), torch.sin(y), torch.cos(p), torch.sin(p), torch.zeros_like(y)
        # Rows are right, up and back of a camera along -z, turned about y by yaw and about its right by pitch.
        rotation = torch.stack(
            [torch.stack([cy, o, -sy]), torch.stack([sp * sy, cp, sp * cy]), torch.stack([cp * sy, -sp, cp * cy])]
        )
        height, width = self.size
        return Camera.intrinsics(
            rotation, eye, focal=torch.stack([focal, focal]), centre=(0.5 * width, 0.5 * height), size=self.size,
            near=self.near, far=self.far,
        )  # fmt: skip
