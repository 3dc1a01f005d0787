"""A surface's own colour as kernels read it: rows of values, and which of them the corners of faces use."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import torch
from torch import Tensor

from diffloom.interfaces import Surface
from diffloom.shading import Split
from diffloom.shading.topology import Corners, corners_of

#: Colour of a surface that has none.
GREY = 0.5


@dataclass(frozen=True)
class Own:
    """values: (rows, 3) colours or (rows, 2) texture coordinates. image: (height, width, 3), one texel for none."""

    values: Tensor
    corners: Corners
    image: Tensor
    textured: bool
    mode: tuple[int, int]


def own_colour(surface: Surface, split: Split | None) -> Own:
    """Of a surface whose faces may have been cut."""
    texture, vertices = surface.texture, surface.vertices
    values, index, by_vertex = _rows(surface)
    if split is not None and by_vertex:
        values = split.extend(values[None]).reshape(-1, values.shape[1])
        index = split.corners.long()
    elif split is not None:
        values = split.corner_values(values[index]).reshape(-1, values.shape[1])
        index = _counted(values.shape[0] // 3, str(values.device))
    image = vertices.new_zeros((1, 1, 3)) if texture is None else texture.image
    mode = (1, 1) if texture is None else (int(texture.corners), int(texture.filter == "bilinear"))
    return Own(values, corners_of(index, int(values.shape[0])), image, texture is not None, mode)


def _rows(surface: Surface) -> tuple[Tensor, Tensor, bool]:
    """Values, their rows at the corners of faces, and whether those are the rows of the vertices."""
    faces, colours, texture = surface.faces, surface.colours, surface.texture
    if texture is not None:
        own_rows = texture.uv_faces is not None
        return texture.uv, texture.uv_faces if texture.uv_faces is not None else faces, not own_rows
    if colours is None or colours.dim() == 1:
        flat = surface.vertices.new_full((3,), GREY) if colours is None else colours
        return flat[None], _repeated(int(faces.shape[0]), 0, str(faces.device)), False
    if surface.colour_per == "vertex":
        return colours, faces, True
    return colours, _repeated(int(faces.shape[0]), 1, str(faces.device)), False


@functools.lru_cache(maxsize=32)
def _repeated(faces: int, step: int, device: str) -> Tensor:
    """Row step x face for all three corners; kept, so that its topology is found again."""
    return (torch.arange(faces, device=device) * step)[:, None].expand(-1, 3).contiguous()


@functools.lru_cache(maxsize=8)
def _counted(triangles: int, device: str) -> Tensor:
    """A row of its own for every corner."""
    return torch.arange(3 * triangles, device=device).reshape(-1, 3)
