"""How one body of a world is shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from diffloom.interfaces import InputError, Model, Surface


@dataclass(frozen=True)
class BodyAppearance:
    """Colour or texture of a body; its model's own when neither is given.

    colour: rgb 0..1. texture: (height, width, 3) image 0..1 that the model lays over its surface.
    """

    colour: tuple[float, float, float] | None = None
    texture: Tensor | None = None

    def apply(self, surface: Surface, name: str, model: Model) -> Surface:
        """``surface`` shown so."""
        like = surface.vertices
        if self.texture is not None:
            lay = getattr(model, "texture", None)
            if lay is None:
                raise InputError(f"body {name!r}: {type(model).__name__} has no texture coordinates; give a colour")
            return surface.with_appearance(texture=lay(self.texture.to(like)))
        if self.colour is not None:
            return surface.with_appearance(colours=torch.tensor(self.colour, dtype=like.dtype, device=like.device))
        return surface


def read_appearance(table: Mapping[str, Any], place: str) -> BodyAppearance:
    """From the keys ``colour`` and ``texture`` of a body's table; texture: an image file, or the image itself."""
    unknown = sorted(set(table) - {"colour", "texture"})
    if unknown:
        raise InputError(f"{place}: got {unknown[0]!r}; a body's table has name, model, colour and texture")
    colour, image = table.get("colour"), table.get("texture")
    if colour is not None and image is not None:
        raise InputError(f"{place}: got both a colour and a texture; give one of them")
    if colour is not None:
        values = tuple(float(c) for c in colour) if isinstance(colour, (list, tuple)) else ()
        if len(values) != 3 or not all(0.0 <= c <= 1.0 for c in values):
            raise InputError(f"{place}: colour: got {colour!r}; expected three numbers 0..1, red, green and blue")
        return BodyAppearance(colour=(values[0], values[1], values[2]))
    return BodyAppearance(texture=None if image is None else _image(image, place))


def _image(given: object, place: str) -> Tensor:
    """(height, width, 3) in 0..1, of a file or as given."""
    if isinstance(given, str):
        from PIL import Image, UnidentifiedImageError

        try:
            with Image.open(given) as opened:
                return torch.from_numpy(np.asarray(opened.convert("RGB"), dtype=np.float64) / 255.0)
        except (OSError, UnidentifiedImageError, Image.DecompressionBombError) as error:
            raise InputError(f"{place}: texture {given!r} cannot be read: {error}") from error
    image = torch.as_tensor(given, dtype=torch.float64)
    if image.dim() != 3 or image.shape[2] != 3:
        raise InputError(f"{place}: texture has shape {tuple(image.shape)}; expected (height, width, 3)")
    return image
