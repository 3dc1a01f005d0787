"""A surface's own colour as kernels read it: rows of values, and which of them the corners of faces use."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import torch
from torch import Tensor

from diffloom.interfaces import Surface, Texture
from diffloom.shading import Split
from diffloom.shading.topology import Corners, corners_of

GREY = 0.5


@dataclass(frozen=True)
class Appearance:
    """values: (rows, 3), colours or u, v, 0. image: (height, width, 3), one texel where there is no texture."""

    values: Tensor
    index: Corners
    image: Tensor
    textured: bool
    mode: tuple[int, int]


def appearance(surface: Surface, split: Split | None) -> Appearance:
    """Of a surface whose faces may have been cut."""
    if surface.texture is not None:
        return _textured(surface, surface.texture, split)
    image = torch.zeros((1, 1, 3), dtype=surface.vertices.dtype, device=surface.vertices.device)
    values, index = _coloured(surface, split)
    return Appearance(values, corners_of(index, values.shape[0]), image, False, (1, 1))


def _coloured(surface: Surface, split: Split | None) -> tuple[Tensor, Tensor]:
    colours, faces = surface.colours, surface.faces
    triangles = faces.shape[0] if split is None else split.face.shape[0]
    if colours is None or colours.dim() == 1:
        grey = torch.full((3,), GREY, dtype=surface.vertices.dtype, device=surface.vertices.device)
        return (grey if colours is None else colours)[None], _same_row(triangles, str(faces.device))
    if surface.colour_per == "face":
        if split is None:
            return colours, _own_row(triangles, str(faces.device))
        return colours, split.face.long()[:, None].expand(-1, 3)
    if split is None:
        return colours, faces
    return split.extend(colours[None]).reshape(-1, 3), split.corners.long()


def _textured(surface: Surface, texture: Texture, split: Split | None) -> Appearance:
    uv, index = texture.uv, surface.faces if texture.uv_faces is None else texture.uv_faces
    if split is not None:
        uv = split.corner_values(uv[index]).reshape(-1, 2)
        index = torch.arange(uv.shape[0], device=uv.device).reshape(-1, 3)
    values = torch.nn.functional.pad(uv, (0, 1))
    mode = int(texture.corners), int(texture.filter == "bilinear")
    return Appearance(values, corners_of(index, values.shape[0]), texture.image, True, mode)


@functools.lru_cache(maxsize=32)
def _same_row(triangles: int, device: str) -> Tensor:
    """Row 0 for all corners; kept, so that its topology is found again."""
    return torch.zeros((triangles, 3), dtype=torch.int64, device=device)


@functools.lru_cache(maxsize=32)
def _own_row(triangles: int, device: str) -> Tensor:
    """One row for each triangle."""
    return torch.arange(triangles, device=device)[:, None].expand(-1, 3).contiguous()
