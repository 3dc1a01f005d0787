"""Camera on an orbit around the scene, whose position a fit may seek."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from diffloom.interfaces import Camera, InputError, ParamSpec
from diffloom_fitting.scene.moving import Waypoint, along, check_waypoints
from diffloom_fitting.scene.placement import CameraPlacement
from diffloom_fitting.validation import check_numbers, check_real, check_size

MOVING = ("distance", "elevation", "azimuth", "target")


@dataclass(frozen=True)
class Orbit(CameraPlacement):
    """Camera on an orbit. Azimuth 0 looks along -z, elevation 90 straight down.

    Args:
        distance: Distance from the target [m].
        elevation: Angle above the horizon [deg].
        azimuth: Angle around the vertical [deg].
        target: Point that it looks at [m].
        fov: Vertical field of view [deg].
        size: (height, width) of its images [px], or one number for a square.
        near: Nearest depth that is drawn [m].
        far: Depth up to which depths are normalised [m].
        path: Waypoints of a moving camera.
    """

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
        checked = {
            "distance": check_real("Orbit.distance", self.distance, above=0.0),
            "elevation": check_real("Orbit.elevation", self.elevation),
            "azimuth": check_real("Orbit.azimuth", self.azimuth),
            "target": check_numbers("Orbit.target", self.target, 3),
            "fov": check_real("Orbit.fov", self.fov, above=0.0, below=180.0),
            "size": check_size("Orbit.size", self.size),
            "near": check_real("Orbit.near", self.near, above=0.0),
            "far": check_real("Orbit.far", self.far, above=0.0),
        }
        if not checked["near"] < checked["far"]:  # type: ignore[operator]
            raise InputError(f"Orbit: got near={self.near:g} and far={self.far:g} m; expected near < far")
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        if isinstance(self.path, Waypoint) or not all(isinstance(point, Waypoint) for point in self.path):
            raise InputError("Orbit.path: expected waypoints, such as (Waypoint(0.0), Waypoint(1.0, azimuth=40.0))")
        object.__setattr__(self, "path", tuple(self.path))
        check_waypoints(self.path)

    @property
    def specs(self) -> tuple[ParamSpec, ...]:
        """Quantities that can be unknowns: all that waypoints do not set."""
        place = (
            ParamSpec("distance", self.distance, "m", "from the target", bounds=(0.0, None)),
            ParamSpec("elevation", self.elevation, "deg", "above the horizon"),
            ParamSpec("azimuth", self.azimuth, "deg", "around the vertical; 0 looks along -z"),
            ParamSpec("fov", self.fov, "deg", "vertical field of view", bounds=(0.0, 180.0)),
            ParamSpec("target", self.target, "m", "where it looks", (3,)),
        )
        said = {name for name in MOVING for point in self.path if getattr(point, name) is not None}
        return tuple(spec for spec in place if spec.name not in said)

    def camera(
        self, dtype: torch.dtype, values: Mapping[str, Tensor] | None = None, times: Tensor | None = None
    ) -> Camera:
        """Build the camera.

        Args:
            dtype: Precision.
            values: Unknowns by name, such as {"distance": ...}, that replace fields.
            times: (frames,), times of the video [s]; needed if the camera moves.

        Returns:
            The camera, differentiable with respect to ``values``.
        """
        given = {name: getattr(self, name) for name in (*MOVING, "fov")} | dict(values or {})
        if self.path:
            if times is None:
                raise InputError("Orbit: the camera moves; give the times [s] of its frames")
            for name in MOVING:
                own = torch.as_tensor(given[name], dtype=dtype)
                given[name] = along(self.path, name, own, times)
        return Camera.orbit(
            given["distance"], given["elevation"], given["azimuth"], target=given["target"], fov=given["fov"],
            size=self.size, near=self.near, far=self.far, dtype=dtype,
        )  # fmt: skip
