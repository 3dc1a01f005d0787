"""Sensor of a camera: lens, shutter and response to light."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

import torch
from torch import Tensor

from diffloom.interfaces import InputError, ParamSpec
from diffloom_fitting.validation import check_numbers, check_real, check_whole

#: Unknowns of a camera that belong to its sensor.
SENSED = (
    "roll",
    "centre",
    "distortion",
    "lens_blur",
    "exposure",
    "readout",
    "gain",
    "gamma",
    "time_offset",
    "clock",
    "zoom",
)

#: Setting of a stage besides parameters of the model; a schedule on it helps starts that are far off.
LENS_BLUR = "camera.lens_blur"


@dataclass(frozen=True)
class Sensor:
    """Properties of a real camera; each except ``subframes`` can be an unknown, such as "camera.roll".

    A frame's time is the middle of its exposure, in its middle row.

    Args:
        roll: Angle about the viewing axis, clockwise as seen from behind the camera [deg].
        centre: Centre of the lens, right and down of the image's middle [px]; cropping moves it.
        distortion: k1, k2, p1, p2, k3 of Brown and Conrady.
        lens_blur: Standard deviation of the Gaussian image of a point [px]; 0 for a perfect lens.
        exposure: Exposure time of a frame [s].
        subframes: Number of images that are averaged over the exposure.
        readout: Time from the first row to the last of a rolling shutter [s]; negative for a camera held upside down.
        gain: Factor on the surface's colours: c is recorded as gain c^gamma.
        gamma: Exponent of the surface's colours.
        clock: Duration of the motion over that by the video's time stamps; 1.02 if the true frame rate is 2 % lower.
        zoom: Growth of the focal length per second of the motion, relative to its beginning [1/s].
    """

    roll: float = 0.0
    centre: tuple[float, float] = (0.0, 0.0)
    distortion: tuple[float, float, float, float, float] = (0.0, 0.0, 0.0, 0.0, 0.0)
    lens_blur: float = 0.0
    exposure: float = 0.0
    subframes: int = 1
    readout: float = 0.0
    gain: float = 1.0
    gamma: float = 1.0
    clock: float = 1.0
    zoom: float = 0.0

    def __post_init__(self) -> None:
        checked = {
            "roll": check_real("camera.roll [deg]", self.roll),
            "centre": check_numbers("camera.centre [px]", self.centre, 2),
            "distortion": check_numbers("camera.distortion", self.distortion, 5),
            "lens_blur": check_real("camera.lens_blur [px]", self.lens_blur, least=0.0),
            "exposure": check_real("camera.exposure [s]", self.exposure, least=0.0),
            "subframes": check_whole("camera.subframes", self.subframes, 1),
            "readout": check_real("camera.readout [s]", self.readout),
            "gain": check_real("camera.gain", self.gain, above=0.0),
            "gamma": check_real("camera.gamma", self.gamma, above=0.0),
            "clock": check_real("camera.clock", self.clock, above=0.0),
            "zoom": check_real("camera.zoom [1/s]", self.zoom),
        }
        if self.exposure > 0.0 and self.subframes < 2:
            raise InputError(
                f"camera.subframes: got {self.subframes} for an exposure of {self.exposure:g} s; expected 2 or more, "
                "because motion blur is their mean"
            )
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    @property
    def specs(self) -> tuple[ParamSpec, ...]:
        """Quantities that can be unknowns."""
        positive = (0.0, None)
        return (
            ParamSpec("roll", self.roll, "deg", "about the viewing axis"),
            ParamSpec("centre", self.centre, "px", "of the lens, right and down of the image's middle", (2,)),
            ParamSpec("distortion", self.distortion, "", "k1, k2, p1, p2, k3 of Brown and Conrady", (5,)),
            ParamSpec("lens_blur", self.lens_blur, "px", "radius of a point's spot", bounds=positive),
            ParamSpec("exposure", self.exposure, "s", "how long a frame is exposed", bounds=positive),
            ParamSpec("readout", self.readout, "s", "from the first row to the last"),
            ParamSpec("gain", self.gain, "", "factor on the surface's colours", bounds=positive),
            ParamSpec("gamma", self.gamma, "", "exponent of the surface's colours", bounds=positive),
            ParamSpec("clock", self.clock, "", "true duration over that by the time stamps", bounds=positive),
            ParamSpec("zoom", self.zoom, "1/s", "growth of the focal length per second"),
        )

    def value(self, name: str, values: Mapping[str, Tensor], dtype: torch.dtype) -> Tensor | None:
        """Return a quantity.

        Args:
            name: Name of the quantity.
            values: Unknowns by name.
            dtype: Precision.

        Returns:
            The unknown or the field; None if the field has its default.
        """
        if name in values:
            return values[name]
        own = getattr(self, name)
        default = next(field.default for field in fields(self) if field.name == name)
        return None if own == default else torch.tensor(own, dtype=dtype)


def shutter_times(
    sensor: Sensor, values: Mapping[str, Tensor], times: Tensor, offset: float
) -> tuple[Tensor, int, bool]:
    """Return the times of exposure of frames.

    Args:
        sensor: The sensor.
        values: Unknowns of the camera by name.
        times: (frames,), times of the simulation with the known ``offset`` [s].
        offset: Known time offset of the camera [s]; an unknown one replaces it.

    Returns:
        Times [s] of each frame, its subframes and, for a rolling shutter, its first and last rows, in one row; number
        of subframes; and true for a rolling shutter.
    """
    late, clock = values.get("time_offset"), sensor.value("clock", values, times.dtype)
    found = times if clock is None else offset + (times - offset) * clock.to(times.dtype)
    found = found if late is None else found + (late.to(times.dtype) - offset)
    exposure, readout = (sensor.value(name, values, times.dtype) for name in ("exposure", "readout"))
    count = sensor.subframes if exposure is not None else 1
    if exposure is not None:
        shares = (torch.arange(count, dtype=times.dtype) + 0.5) / count - 0.5
        found = (found[:, None] + exposure.to(times.dtype) * shares).reshape(-1)
    if readout is not None:
        half = 0.5 * readout.to(times.dtype)
        found = torch.stack([found - half, found + half], dim=1).reshape(-1)
    return found, count, readout is not None
