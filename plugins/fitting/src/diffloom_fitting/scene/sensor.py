"""What lies between the scene and the pixels: lens, shutter and the response to light."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

import torch
from torch import Tensor

from diffloom.interfaces import InputError, ParamSpec
from diffloom_fitting.validation import numbers, real, whole

#: What a sensor takes of the values that are sought of a camera.
SENSED = ("roll", "centre", "distortion", "lens_blur", "exposure", "readout", "gain", "gamma", "time_offset")

#: What a stage of a fit may set besides parameters of the model: a schedule on it serves starts that are far off.
LENS_BLUR = "camera.lens_blur"


@dataclass(frozen=True)
class Sensor:
    """How a real camera records; what is left as it is costs nothing. Each but ``subframes`` can be sought, as
    "camera.roll" and so on.

    roll: of the camera about its viewing axis, clockwise as seen from behind it [deg]. centre: of the lens, right and
    down of the image's middle [px]: a crop moves it. distortion: k1, k2, p1, p2, k3 of Brown and Conrady. lens_blur:
    radius (standard deviation) of the Gaussian spot that a point is seen as [px], 0 for a perfect lens. exposure: how
    long a frame is exposed [s]; it is drawn ``subframes`` times in that time, and averaged. readout: from the first row
    to the last of a rolling shutter [s], less than 0 for a camera that was held upside down. A frame's time is the
    middle of its exposure, in its middle row. gain, gamma: the surface's colours c are recorded as gain c^gamma.
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

    def __post_init__(self) -> None:
        checked = {
            "roll": real("camera.roll [deg]", self.roll),
            "centre": numbers("camera.centre [px]", self.centre, 2),
            "distortion": numbers("camera.distortion", self.distortion, 5),
            "lens_blur": real("camera.lens_blur [px]", self.lens_blur, least=0.0),
            "exposure": real("camera.exposure [s]", self.exposure, least=0.0),
            "subframes": whole("camera.subframes", self.subframes, 1),
            "readout": real("camera.readout [s]", self.readout),
            "gain": real("camera.gain", self.gain, above=0.0),
            "gamma": real("camera.gamma", self.gamma, above=0.0),
        }
        if self.exposure > 0.0 and self.subframes < 2:
            raise InputError(
                f"camera.subframes: got {self.subframes} for an exposure of {self.exposure:g} s; expected 2 or more, "
                "drawn within it: motion blur is their mean"
            )
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    @property
    def specs(self) -> tuple[ParamSpec, ...]:
        """What can be sought."""
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
        )

    def value(self, name: str, values: Mapping[str, Tensor], dtype: torch.dtype) -> Tensor | None:
        """A quantity that is sought or set; None where it is as in an ideal camera."""
        if name in values:
            return values[name]
        own = getattr(self, name)
        default = next(field.default for field in fields(self) if field.name == name)
        return None if own == default else torch.tensor(own, dtype=dtype)


def shutter_times(
    sensor: Sensor, values: Mapping[str, Tensor], times: Tensor, offset: float
) -> tuple[Tensor, int, bool]:
    """When what is drawn was seen: times [s] of each frame, its subframes and, of a rolling shutter, of its first and
    last rows, in one row; how many subframes a frame has; and whether there are rows.

    times: (frames,) [s] of the simulation, with the camera's known ``offset``; values: those that are sought, in which
    a sought offset replaces it. Differentiable with respect to them.
    """
    late = values.get("time_offset")
    found = times if late is None else times + (late.to(times.dtype) - offset)
    exposure, readout = (sensor.value(name, values, times.dtype) for name in ("exposure", "readout"))
    count = sensor.subframes if exposure is not None else 1
    if exposure is not None:
        shares = (torch.arange(count, dtype=times.dtype) + 0.5) / count - 0.5
        found = (found[:, None] + exposure.to(times.dtype) * shares).reshape(-1)
    if readout is not None:
        half = 0.5 * readout.to(times.dtype)
        found = torch.stack([found - half, found + half], dim=1).reshape(-1)
    return found, count, readout is not None
