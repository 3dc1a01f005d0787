"""A camera given by where it stands around the scene, so that a fit may seek its place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from diffloom.interfaces import Camera, InputError

SOUGHT = ("distance", "elevation", "azimuth", "fov", "target")
BOUNDS = {"distance": (0.0, None), "fov": (0.0, 180.0)}
UNITS = {"distance": "m", "elevation": "degrees", "azimuth": "degrees", "fov": "degrees", "target": "m"}


@dataclass(frozen=True)
class Orbit:
    """A camera at ``distance`` [m] from ``target`` [m]; angles and vertical field of view in degrees; size in pixels
    (height, width). Azimuth 0 looks along -z, elevation 90 straight down."""

    distance: float = 8.0
    elevation: float = 30.0
    azimuth: float = 0.0
    target: tuple[float, float, float] = (0.0, 0.0, 0.0)
    fov: float = 60.0
    size: tuple[int, int] = (256, 256)
    near: float = 0.1
    far: float = 100.0

    def camera(self, dtype: torch.dtype, values: Mapping[str, Tensor] | None = None) -> Camera:
        """The camera, differentiable with respect to ``values`` such as {"distance": ...}."""
        given = {name: getattr(self, name) for name in SOUGHT} | dict(values or {})
        return Camera.orbit(
            given["distance"], given["elevation"], given["azimuth"], target=given["target"], fov=given["fov"],
            size=self.size, near=self.near, far=self.far, dtype=dtype,
        )  # fmt: skip


def camera_of(view: Camera | Orbit, dtype: torch.dtype, values: Mapping[str, Tensor]) -> Camera:
    """The camera of either kind; a fixed ``Camera`` accepts no sought values."""
    if isinstance(view, Orbit):
        return view.camera(dtype, values)
    if values:
        raise InputError(
            f"camera.{next(iter(values))} is sought, but the camera is fixed; give it as an Orbit to seek its place"
        )
    if view.dtype != dtype:
        raise InputError(f"the camera is {view.dtype} and the scene {dtype}; make the camera with dtype={dtype}")
    return view
