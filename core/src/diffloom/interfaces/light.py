"""Lights. Colours are rgb factors, () for grey or (3,); all of them may have gradients."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from diffloom.errors import InputError

Colour = Tensor | float | tuple[float, float, float]
Vector = Tensor | tuple[float, float, float]


@dataclass(frozen=True)
class AmbientLight:
    """Ambient light, equal from all directions.

    Args:
        colour: Colour, 0.5 by default.
    """

    colour: Colour = 0.5


@dataclass(frozen=True)
class PointLight:
    """Point light without attenuation.

    Args:
        position: Position in the world [m].
        diffuse: Colour of the diffuse light, 0.5 by default.
        specular: Colour of the highlights, 0.2 by default.
    """

    position: Vector = (0.0, 3.0, 3.0)
    diffuse: Colour = 0.5
    specular: Colour = 0.2


@dataclass(frozen=True)
class DirectionalLight:
    """Light from infinity.

    Args:
        direction: Direction from the scene towards the light, of any length but 0.
        diffuse: Colour of the diffuse light, 0.5 by default.
        specular: Colour of the highlights, 0.2 by default.
    """

    direction: Vector = (0.3, 1.0, 0.5)
    diffuse: Colour = 0.5
    specular: Colour = 0.2

    def __post_init__(self) -> None:
        if not isinstance(self.direction, Tensor) and not any(self.direction):
            raise InputError(
                f"DirectionalLight.direction: got {self.direction}; expected a direction other than (0, 0, 0)"
            )


@dataclass(frozen=True)
class HarmonicLight:
    """Environment light as nine real spherical-harmonic coefficients of irradiance.

    Args:
        coefficients: (9,) for grey or (9, 3), in the order Y00, Y1-1, Y10, Y11, Y2-2, Y2-1, Y20, Y21, Y22 in world
            axes.
    """

    coefficients: Tensor


Light = AmbientLight | PointLight | DirectionalLight | HarmonicLight
