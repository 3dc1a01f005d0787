"""Lights. Colours are rgb factors, () for grey or (3,); any of them may carry gradients."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from diffloom.errors import InputError

Colour = Tensor | float | tuple[float, float, float]
Vector = Tensor | tuple[float, float, float]


@dataclass(frozen=True)
class AmbientLight:
    """Light from everywhere."""

    colour: Colour = 0.5


@dataclass(frozen=True)
class PointLight:
    """A lamp at a place [m, world], without attenuation."""

    position: Vector = (0.0, 3.0, 3.0)
    diffuse: Colour = 0.5
    specular: Colour = 0.2


@dataclass(frozen=True)
class DirectionalLight:
    """A far lamp; ``direction`` points from the scene towards the light."""

    direction: Vector = (0.3, 1.0, 0.5)
    diffuse: Colour = 0.5
    specular: Colour = 0.2

    def __post_init__(self) -> None:
        if not isinstance(self.direction, Tensor) and not any(self.direction):
            raise InputError(f"DirectionalLight.direction: got {self.direction}; expected a way to go, not 0")


@dataclass(frozen=True)
class HarmonicLight:
    """Environment light as nine real spherical-harmonic coefficients of irradiance.

    coefficients: (9,) for grey or (9, 3), order Y00, Y1-1, Y10, Y11, Y2-2, Y2-1, Y20, Y21, Y22, world axes.
    """

    coefficients: Tensor


Light = AmbientLight | PointLight | DirectionalLight | HarmonicLight
