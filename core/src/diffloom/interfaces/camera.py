"""Pinhole camera of all renderers."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from diffloom.errors import InputError
from diffloom.validation import as_float_tensor, check_shape

Vector = Tensor | tuple[float, float, float]


@dataclass(frozen=True)
class Camera:
    """Pinhole camera, one for all frames, or one per frame if ``rotation`` and ``eye`` have a leading axis.

    A point p has camera coordinates c = rotation (p - eye); the camera looks along -z. The point is seen at column = cx
    + fx c_x / -c_z, row = cy - fy c_y / -c_z.

    Args:
        rotation: (3, 3) or (frames, 3, 3); its rows are the camera's right, up and back axes in the world.
        eye: Position (3,) or (frames, 3) [m].
        focal: Focal lengths fx, fy (2,) [px].
        centre: Principal point cx, cy (2,) [px], right and down from the upper left corner; pixel (row i, column j) has
            its
            centre at (j + 0.5, i + 0.5).
        height: Height of the image [px].
        width: Width of the image [px].
        near: Depth of the near plane [m], 0.1 by default; nothing closer is drawn.
        far: Depth of the far plane [m], 100 by default; depths are normalised between both.
    """

    rotation: Tensor
    eye: Tensor
    focal: Tensor
    centre: Tensor
    height: int
    width: int
    near: float = 0.1
    far: float = 100.0

    def __post_init__(self) -> None:
        check_shape("Camera.rotation", self.rotation, (3, 3), ("frames", 3, 3))
        check_shape("Camera.eye", self.eye, (3,), ("frames", 3))
        check_shape("Camera.focal", self.focal, (2,))
        check_shape("Camera.centre", self.centre, (2,))
        if self.height < 1 or self.width < 1:
            raise InputError(f"Camera: got an image of {self.height} x {self.width} pixels; expected at least 1 x 1")
        if not 0.0 < self.near < self.far:
            raise InputError(f"Camera: got near={self.near} and far={self.far}; expected 0 < near < far")

    @property
    def dtype(self) -> torch.dtype:
        """torch.float32 or torch.float64."""
        return self.eye.dtype

    @staticmethod
    def intrinsics(
        rotation: Tensor,
        eye: Tensor,
        *,
        focal: Tensor | tuple[float, float],
        centre: Tensor | tuple[float, float],
        size: tuple[int, int],
        near: float = 0.1,
        far: float = 100.0,
    ) -> Camera:
        """Return the camera of a pose and pixel intrinsics.

        Args:
            rotation: (3, 3) or (frames, 3, 3), see ``Camera``.
            eye: Position (3,) or (frames, 3) [m].
            focal: Focal lengths fx, fy [px].
            centre: Principal point cx, cy [px].
            size: Height and width of the image [px].
            near: Depth of the near plane [m].
            far: Depth of the far plane [m].

        Returns:
            Camera.
        """
        kind = eye.dtype
        return Camera(
            rotation, eye, as_float_tensor("focal", focal, kind), as_float_tensor("centre", centre, kind),
            size[0], size[1], near, far,
        )  # fmt: skip

    @staticmethod
    def look_at(
        eye: Vector,
        target: Vector = (0.0, 0.0, 0.0),
        *,
        up: Vector = (0.0, 1.0, 0.0),
        fov: Tensor | float = 60.0,
        size: tuple[int, int] = (256, 256),
        near: float = 0.1,
        far: float = 100.0,
        dtype: torch.dtype = torch.float32,
    ) -> Camera:
        """Return a camera at ``eye`` that looks at ``target``, differentiable in eye, target, up and fov.

        Args:
            eye: Position [m].
            target: Point that the camera looks at [m].
            up: Direction that is up in the image.
            fov: Vertical field of view [degrees].
            size: Height and width of the image [px].
            near: Depth of the near plane [m].
            far: Depth of the far plane [m].
            dtype: Float type; tensors must have it.

        Returns:
            Camera.

        Raises:
            InputError: Eye, target and up are collinear, or fov is not between 0 and 180.
        """
        place = as_float_tensor("eye", eye, dtype)
        back = place - as_float_tensor("target", target, dtype)
        right = torch.linalg.cross(as_float_tensor("up", up, dtype).expand_as(back), back)
        if bool((right.detach().norm(dim=-1) <= 1e-9 * back.detach().norm(dim=-1)).any()):
            raise InputError(
                f"look_at: eye {eye}, target {target} and up {up} lie on one line; move the eye or choose another up"
            )
        back = back / back.norm(dim=-1, keepdim=True)
        right = right / right.norm(dim=-1, keepdim=True)
        rotation = torch.stack([right, torch.linalg.cross(back, right), back], dim=-2)
        angle = as_float_tensor("fov", fov, dtype)
        if not 0.0 < float(angle.detach()) < 180.0:
            raise InputError(f"look_at: got fov={float(angle.detach()):g}; expected degrees between 0 and 180")
        height, width = size
        focal = 0.5 * height / torch.tan(0.5 * angle * (math.pi / 180.0))
        centre = torch.tensor([0.5 * width, 0.5 * height], dtype=dtype)
        return Camera(rotation, place, torch.stack([focal, focal]), centre, height, width, near, far)

    @staticmethod
    def orbit(
        distance: Tensor | float,
        elevation: Tensor | float = 0.0,
        azimuth: Tensor | float = 0.0,
        *,
        target: Vector = (0.0, 0.0, 0.0),
        fov: Tensor | float = 60.0,
        size: tuple[int, int] = (256, 256),
        near: float = 0.1,
        far: float = 100.0,
        dtype: torch.dtype = torch.float32,
    ) -> Camera:
        """Return a camera on a sphere around ``target``.

        Azimuth 0 looks along -z from +z, azimuth 90 from +x; elevation 90 is straight above.

        Args:
            distance: Distance from the target [m].
            elevation: Angle above the horizon [degrees].
            azimuth: Angle around the vertical [degrees].
            target: Point that the camera looks at [m].
            fov: Vertical field of view [degrees].
            size: Height and width of the image [px].
            near: Depth of the near plane [m].
            far: Depth of the far plane [m].
            dtype: Float type; tensors must have it.

        Returns:
            Camera.
        """
        radius = as_float_tensor("distance", distance, dtype)
        e = as_float_tensor("elevation", elevation, dtype) * (math.pi / 180.0)
        a = as_float_tensor("azimuth", azimuth, dtype) * (math.pi / 180.0)
        aim = as_float_tensor("target", target, dtype)
        way = torch.stack([torch.cos(e) * torch.sin(a), torch.sin(e), torch.cos(e) * torch.cos(a)], dim=-1)
        return Camera.look_at(aim + radius[..., None] * way, aim, fov=fov, size=size, near=near, far=far, dtype=dtype)
