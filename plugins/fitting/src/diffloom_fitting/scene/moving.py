"""Moving cameras: along waypoints, or with measured poses."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import torch
from torch import Tensor

from diffloom.interfaces import Camera, InputError
from diffloom.validation import check_settings

#: Largest distance of a frame from the time of its pose, relative to the time between two poses.
CLOSE = 1e-3


@dataclass(frozen=True)
class Waypoint:
    """Position of an ``Orbit`` at one time; fields that are None keep the orbit's own value.

    Between two waypoints everything changes linearly; before the first and after the last one the camera stands still.

    Args:
        time: Time of the video [s].
        distance: Distance from the target [m].
        elevation: Angle above the horizon [deg].
        azimuth: Angle around the vertical [deg].
        target: Point that it looks at [m].
    """

    time: float
    distance: float | None = None
    elevation: float | None = None
    azimuth: float | None = None
    target: tuple[float, float, float] | None = None

    def __post_init__(self) -> None:
        check_settings(self)


@dataclass(frozen=True)
class MovingCamera:
    """Camera with a measured pose for each frame.

    Args:
        camera: Camera with a rotation or an eye for each time.
        times: (poses,), times of the video [s]; each frame must have one of them.
    """

    camera: Camera
    times: Tensor

    def __post_init__(self) -> None:
        counts = {len(t) for t, n in ((self.camera.rotation, 3), (self.camera.eye, 2)) if t.dim() == n}
        if counts != {len(self.times)}:
            raise InputError(
                f"MovingCamera: got {len(self.times)} times for a camera of {sorted(counts) or 'one'} poses; expected "
                "a rotation (poses, 3, 3) or an eye (poses, 3), one for each time"
            )
        if len(self.times) < 2 or bool((self.times.diff() <= 0.0).any()):
            raise InputError("MovingCamera: expected at least two times [s], each later than the one before")

    def at(self, times: Tensor) -> Camera:
        """Select the poses of frames.

        Args:
            times: (frames,), times of the video [s].

        Returns:
            The camera.

        Raises:
            InputError: A frame has no pose.
        """
        known, wanted = self.times.double(), times.detach().double()
        rows = (wanted[:, None] - known).abs().argmin(dim=1)
        far = (wanted - known[rows]).abs() > CLOSE * float(known.diff().min())
        if bool(far.any()):
            raise InputError(
                f"MovingCamera: it has poses from {float(known[0]):g} s to {float(known[-1]):g} s and none at "
                f"{float(wanted[far][0]):g} s; give a pose for every frame of the video"
            )
        camera = self.camera
        rotation = camera.rotation[rows] if camera.rotation.dim() == 3 else camera.rotation
        return replace(camera, rotation=rotation, eye=camera.eye[rows] if camera.eye.dim() == 2 else camera.eye)


def along(waypoints: tuple[Waypoint, ...], name: str, own: Tensor, times: Tensor) -> Tensor:
    """Interpolate one value of the waypoints to the frames' times [s], (frames, ...); ``own`` where they set none."""
    given = [getattr(point, name) for point in waypoints]
    rows = torch.stack([own if value is None else torch.as_tensor(value, dtype=own.dtype) for value in given])
    known = torch.tensor([point.time for point in waypoints], dtype=torch.float64)
    wanted = times.detach().double().clamp(known[0], known[-1])
    later = torch.searchsorted(known, wanted).clamp(1, len(known) - 1)
    share = ((wanted - known[later - 1]) / (known[later] - known[later - 1])).to(own.dtype)
    share = share.reshape(-1, *([1] * own.dim()))
    return torch.lerp(rows[later - 1], rows[later], share)


def check_waypoints(waypoints: tuple[Waypoint, ...]) -> None:
    """Raise unless there are no waypoints, or at least two in order of time."""
    times = [point.time for point in waypoints]
    if waypoints and (len(times) < 2 or any(b <= a for a, b in pairwise(times))):
        raise InputError(
            f"camera.path: got waypoints at {', '.join(f'{t:g}' for t in times)} s; expected at least two, each later "
            "than the one before"
        )
