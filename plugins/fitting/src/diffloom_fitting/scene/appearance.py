"""Appearance of a model's surface: colour, pattern and shading."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from diffloom.interfaces import InputError, Material, Surface
from diffloom.validation import check_settings
from diffloom_fitting.validation import check_numbers

Pattern = Literal["uniform", "position", "stripes"]


@dataclass(frozen=True)
class Appearance:
    """Colour and shading of the surface.

    Args:
        colour: rgb 0..1; None for the model's own.
        pattern: "uniform"; "position", which colours each vertex by its place in the first frame and so shows turning
            and stretching; "stripes", bands along the longest side.
        shading: "unlit", "lambert", "phong"; None for the model's own material.
        ambient: Factor on ambient light.
        diffuse: Factor on diffuse light.
        specular: Factor on highlights.
        shininess: Exponent of highlights; the larger, the smaller they are.
    """

    colour: tuple[float, float, float] | None = None
    pattern: Pattern = "uniform"
    shading: Literal["unlit", "lambert", "phong"] | None = None
    ambient: float = 1.0
    diffuse: float = 1.0
    specular: float = 1.0
    shininess: float = 64.0

    def __post_init__(self) -> None:
        if self.pattern not in ("uniform", "position", "stripes"):
            raise InputError(f"appearance.pattern: got {self.pattern!r}; expected one of uniform, position, stripes")
        colour = (0.0,) if self.colour is None else check_numbers("appearance.colour", self.colour, 3)
        if not all(0.0 <= part <= 1.0 for part in colour):
            raise InputError(f"appearance.colour: got {self.colour}; expected red, green and blue in 0..1")
        check_settings(self)

    def apply(self, surface: Surface, rest: Tensor, colour: Tensor | None = None) -> Surface:
        """Apply the appearance to a surface.

        Args:
            surface: The surface.
            rest: (vertices, 3), shape that the pattern is laid on.
            colour: (3,), if it is an unknown.

        Returns:
            The surface with this appearance.
        """
        material = surface.material
        if self.shading is not None:
            if len(surface.materials) > 1:
                raise InputError(
                    f"appearance.shading: got {self.shading!r} for bodies with {len(surface.materials)} materials; "
                    "give each body its material, or none of them one"
                )
            material = Material(self.shading, self.ambient, self.diffuse, self.specular, self.shininess)
        base = colour
        if base is None and self.colour is not None:
            base = torch.tensor(self.colour, dtype=surface.vertices.dtype)
        if self.pattern == "uniform" and base is None:
            return surface.replace_appearance(
                colours=surface.colours, colour_per=surface.colour_per, texture=surface.texture, material=material
            )
        if base is None:
            base = torch.ones(3, dtype=surface.vertices.dtype)
        colours = (base * _pattern(self.pattern, rest)).to(surface.vertices.device)
        return surface.replace_appearance(colours=colours, material=material)


def _pattern(kind: str, rest: Tensor) -> Tensor:
    """Return factors (vertices, 3) in 0..1, or ones (3,) for a uniform surface."""
    if kind == "uniform":
        return torch.ones(3, dtype=rest.dtype)
    low, high = rest.min(dim=0).values, rest.max(dim=0).values
    extent = high - low
    part = (rest - low) / torch.where(extent > 0.0, extent, torch.ones_like(extent))
    if kind == "position":
        # At least 0.15, so that every vertex is visible before a black background.
        return 0.15 + 0.85 * part
    along = part[:, int(extent.argmax())]
    band = 0.5 + 0.5 * torch.sin(along * (8.0 * torch.pi))
    return torch.stack([0.2 + 0.8 * band, 0.9 - 0.6 * band, 0.35 + 0.4 * along], dim=1)
