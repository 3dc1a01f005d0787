"""Appearance of the bodies of a world."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from diffloom.interfaces import InputError, Material, Model, Surface
from diffloom.regular_files import IMAGE_FORMATS, MOST_IMAGE, check_pixels, open_regular


@dataclass(frozen=True)
class BodyAppearance:
    """Colour or texture of a body and its material; None for those of the body's model.

    Args:
        colour: RGB in 0..1.
        texture: Image (height, width, 3) in 0..1, which the model lays over its surface.
        material: Material.
    """

    colour: tuple[float, float, float] | None = None
    texture: Tensor | None = None
    material: Material | None = None

    def apply(self, surface: Surface, name: str, model: Model) -> Surface:
        """Return ``surface`` with this appearance."""
        like = surface.vertices
        if self.texture is not None:
            lay = getattr(model, "texture", None)
            if lay is None:
                raise InputError(f"body {name!r}: {type(model).__name__} has no texture coordinates; give a colour")
            return surface.replace_appearance(texture=lay(self.texture.to(like)), material=self.material)
        if self.colour is not None:
            colours = torch.tensor(self.colour, dtype=like.dtype, device=like.device)
            return surface.replace_appearance(colours=colours, material=self.material)
        return surface if self.material is None else replace(surface, material=self.material)


def read_appearance(table: Mapping[str, Any], place: str) -> BodyAppearance:
    """Return the appearance from the keys ``colour``, ``texture`` and ``material`` of a body's table.

    ``texture`` is an image file or an image, ``material`` a Material or a table of its fields.
    """
    unknown = sorted(set(table) - {"colour", "texture", "material"})
    if unknown:
        raise InputError(f"{place}: got {unknown[0]!r}; a body's table has name, model, colour, texture and material")
    material = _material(table.get("material"), place)
    colour, image = table.get("colour"), table.get("texture")
    if colour is not None and image is not None:
        raise InputError(f"{place}: got both a colour and a texture; give one of them")
    if colour is not None:
        values = tuple(float(c) for c in colour) if isinstance(colour, (list, tuple)) else ()
        if len(values) != 3 or not all(0.0 <= c <= 1.0 for c in values):
            raise InputError(f"{place}: colour: got {colour!r}; expected three numbers 0..1, red, green and blue")
        return BodyAppearance(colour=(values[0], values[1], values[2]), material=material)
    return BodyAppearance(texture=None if image is None else _image(image, place), material=material)


def _material(given: object, place: str) -> Material | None:
    """Return a Material from a Material, a table of its fields, or None."""
    if given is None or isinstance(given, Material):
        return given
    known = [f.name for f in fields(Material)]
    if not isinstance(given, Mapping) or not set(given) <= set(known):
        raise InputError(f"{place}: material: got {given!r}; expected a Material, or a table of {', '.join(known)}")
    values: dict[str, Any] = {
        key: value if key == "shading" else _factor(value, place, key) for key, value in given.items()
    }
    shiny = "specular" in given or "shininess" in given
    try:
        return Material(**{"shading": "phong" if shiny else "lambert", **values})
    except InputError as error:
        raise InputError(f"{place}: {error}") from error


def _factor(given: Any, place: str, key: str) -> float | tuple[float, ...] | Tensor:
    """Return one number of a material, or three for red, green and blue; tensors are returned themselves."""
    if isinstance(given, Tensor):
        return given
    several = isinstance(given, (list, tuple)) and len(given) == 3 and key != "shininess"
    numbers = list(given) if several else [given]
    if any(isinstance(n, bool) or not isinstance(n, (int, float)) or not 0.0 <= n < float("inf") for n in numbers):
        wanted = "a number" if key == "shininess" else "a number, or three for red, green and blue"
        raise InputError(f"{place}: material: {key}: got {given!r}; expected {wanted}, 0 or more")
    return tuple(float(n) for n in numbers) if several else float(numbers[0])


def _image(given: object, place: str) -> Tensor:
    """Return an image (height, width, 3) in 0..1 from a file or an array."""
    if isinstance(given, str):
        from PIL import Image

        try:
            with (
                open_regular(given, MOST_IMAGE, what="texture") as file,
                Image.open(file, formats=IMAGE_FORMATS) as opened,
            ):
                check_pixels(f"texture {given!r}", *opened.size)
                return torch.from_numpy(np.asarray(opened.convert("RGB"), dtype=np.float64) / 255.0)
        except (OSError, ValueError, SyntaxError) as error:
            raise InputError(f"{place}: texture {given!r} cannot be read: {error}") from error
    image = torch.as_tensor(given, dtype=torch.float64)
    if image.dim() != 3 or image.shape[2] != 3:
        raise InputError(f"{place}: texture has shape {tuple(image.shape)}; expected (height, width, 3)")
    return image
