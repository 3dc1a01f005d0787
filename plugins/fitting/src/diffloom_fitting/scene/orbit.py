"""A camera given by where it stands around the scene, so that a fit may seek its place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from diffloom.interfaces import Camera, InputError
from diffloom_fitting.scene.moving import Tracked, Waypoint, along, check_waypoints

SOUGHT = ("distance", "elevation", "azimuth", "fov", "target")
MOVING = ("distance", "elevation", "azimuth", "target")
BOUNDS = {"distance": (0.0, None), "fov": (0.0, 180.0)}
UNITS = {"distance": "m", "elevation": "degrees", "azimuth": "degrees", "fov": "degrees", "target": "m"}


@dataclass(frozen=True)
class Orbit:
    """A camera at ``distance`` [m] from ``target`` [m]; angles and vertical field of view in degrees; size in pixels
    (height, width). Azimuth 0 looks along -z, elevation 90 straight down. path: waypoints of a camera that moves."""

    distance: float = 8.0
    elevation: float = 30.0
    azimuth: float = 0.0
    target: tuple[float, float, float] = (0.0, 0.0, 0.0)
    fov: float = 60.0
    size: tuple[int, int] = (256, 256)
    near: float = 0.1
    far: float = 100.0
    path: tuple[Waypoint, ...] = ()

    def __post_init__(self) -> None:
        check_waypoints(self.path)

    @property
    def sought(self) -> tuple[str, ...]:
        """What of its place can be sought: all that waypoints do not say."""
        return tuple(n for n in SOUGHT if not any(getattr(point, n, None) is not None for point in self.path))

    def camera(
        self, dtype: torch.dtype, values: Mapping[str, Tensor] | None = None, times: Tensor | None = None
    ) -> Camera:
        """The camera, differentiable with respect to ``values`` such as {"distance": ...}.

        times: (frames,) [s] of its video, needed where it moves: it then has a place for each of them.
        """
        given = {name: getattr(self, name) for name in SOUGHT} | dict(values or {})
        if self.path:
            if times is None:
                raise InputError("the camera moves; give the times [s] at which it is looked through")
            for name in MOVING:
                own = torch.as_tensor(given[name], dtype=dtype)
                given[name] = along(self.path, name, own, times)
        return Camera.orbit(
            given["distance"], given["elevation"], given["azimuth"], target=given["target"], fov=given["fov"],
            size=self.size, near=self.near, far=self.far, dtype=dtype,
        )  # fmt: skip


def camera_of(
    view: Camera | Orbit | Tracked, dtype: torch.dtype, values: Mapping[str, Tensor], times: Tensor | None = None
) -> Camera:
    """The camera of any kind at ``times`` [s] of its video; only an ``Orbit`` accepts sought values."""
    if isinstance(view, Orbit):
        return view.camera(dtype, values, times)
    if values:
        raise InputError(
            f"camera.{next(iter(values))} is sought, but the camera is fixed; give it as an Orbit to seek its place"
        )
    if isinstance(view, Tracked):
        if times is None:
            raise InputError("the camera moves; give the times [s] at which it is looked through")
        view = view.at(times)
    if view.dtype != dtype:
        raise InputError(f"the camera is {view.dtype} and the scene {dtype}; make the camera with dtype={dtype}")
    return view
