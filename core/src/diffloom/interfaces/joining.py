"""Union of several surfaces, colours and textures included."""

from __future__ import annotations

import math
from collections.abc import Sequence, Set as AbstractSet
from dataclasses import dataclass

import torch
from torch import Tensor

from diffloom.errors import InputError
from diffloom.interfaces.surface import FaceMaterials, Material, Surface, Texture, vertex_colours

_GREY = 0.5


def join_surfaces(surfaces: Sequence[Surface]) -> Surface:
    """Return one surface made of several; faces keep their materials.

    If one of them has a texture, textures and colours are placed into one image, exactly.

    Args:
        surfaces: Surfaces with the same number of frames, or 1 for constant parts; their textures have one filter.

    Returns:
        Surface.

    Raises:
        InputError: There is no surface, or filters or frames differ.
    """
    if not surfaces:
        raise InputError("join_surfaces: got no surfaces; expected at least one")
    vertices = _same_frames([s.vertices for s in surfaces])
    starts = torch.tensor([0, *(int(s.vertices.shape[1]) for s in surfaces)]).cumsum(0)
    faces = torch.cat([s.faces + start for s, start in zip(surfaces, starts[:-1], strict=True)])
    material, whole = _material(surfaces), torch.cat(vertices, dim=1)
    if any(s.texture is not None for s in surfaces):
        return Surface(whole, faces, texture=_atlas(surfaces), material=material)
    grey = torch.full((3,), _GREY, dtype=whole.dtype, device=whole.device)
    colours = _same_frames([vertex_colours(s, grey) for s in surfaces])
    return Surface(whole, faces, colours=torch.cat(colours, dim=-2), material=material)


def _material(surfaces: Sequence[Surface]) -> Material | FaceMaterials:
    """Return the common material, or the materials of the faces; equal materials count once."""
    kept: list[Material] = []
    numbers = []
    for surface in surfaces:
        own = torch.tensor([_number(material, kept) for material in surface.materials])
        index = surface.material.index if isinstance(surface.material, FaceMaterials) else None
        numbers.append(own[torch.zeros(len(surface.faces), dtype=torch.int64) if index is None else index])
    return kept[0] if len(kept) == 1 else FaceMaterials(tuple(kept), torch.cat(numbers))


def _number(material: Material, kept: list[Material]) -> int:
    """Return the position of a material in ``kept``, after appending it if it is new; tensors are compared by
    identity.
    """
    for number, other in enumerate(kept):
        pairs = [(value, vars(other)[name]) for name, value in vars(material).items()]
        if all(a is b or (not isinstance(a, Tensor) and not isinstance(b, Tensor) and a == b) for a, b in pairs):
            return number
    kept.append(material)
    return len(kept) - 1


def _same_frames(values: list[Tensor]) -> list[Tensor]:
    """Return tensors with a leading axis of frames if one of them has it."""
    frames = max((int(v.shape[0]) for v in values if v.dim() == 3), default=0)
    return [v.expand(frames, -1, -1) if v.dim() < 3 or v.shape[0] == 1 else v for v in values] if frames else values


@dataclass(frozen=True)
class _Tile:
    """Part of the joint image.

    ``image`` holds texels (height, width, 3) or (frames, ...); ``places`` (faces, 3, 2) the texel coordinates of the
    faces' corners from its upper left.
    """

    image: Tensor
    places: Tensor


def _atlas(surfaces: Sequence[Surface]) -> Texture:
    """Return the joint texture: tiles below each other, with coordinates at texel centres."""
    filters = {s.texture.filter for s in surfaces if s.texture is not None}
    if len(filters) > 1:
        raise InputError("join_surfaces: the textures have different filters; expected 'bilinear' or 'nearest' for all")
    tiles = [_colour_tile(s, filters) if s.texture is None else _texture_tile(s, s.texture) for s in surfaces]
    width = max(int(t.image.shape[-2]) for t in tiles)
    height = sum(int(t.image.shape[-3]) for t in tiles)
    frames = max((int(t.image.shape[0]) for t in tiles if t.image.dim() == 4), default=0)
    rows, uv, top = [], [], 0
    size = torch.tensor([max(width - 1, 1), max(height - 1, 1)], dtype=tiles[0].places.dtype)
    for tile in tiles:
        image = torch.nn.functional.pad(tile.image, (0, 0, 0, width - int(tile.image.shape[-2])))
        rows.append(image.expand(frames, -1, -1, -1) if frames else image)
        place = (tile.places + torch.tensor([0.0, float(top)], dtype=size.dtype)).reshape(-1, 2) / size
        uv.append(torch.stack([place[:, 0], 1.0 - place[:, 1]], dim=1))
        top += int(tile.image.shape[-3])
    count = sum(int(s.faces.shape[0]) for s in surfaces)
    corners = torch.arange(3 * count).reshape(count, 3)
    return Texture(torch.cat(rows, dim=-3), torch.cat(uv), corners, filter=filters.pop(), corners=True)


def _texture_tile(surface: Surface, texture: Texture) -> _Tile:
    """Return a texture as a tile; coordinates at outer edges need a border of repeated texels."""
    image = texture.image
    corners = texture.uv[surface.faces if texture.uv_faces is None else texture.uv_faces].clamp(0.0, 1.0)
    height, width = int(image.shape[-3]), int(image.shape[-2])
    across, down = corners[..., 0], 1.0 - corners[..., 1]
    if texture.corners:
        return _Tile(image, torch.stack([across * (width - 1), down * (height - 1)], dim=-1))
    rows = torch.arange(-1, height + 1).clamp(0, height - 1)
    columns = torch.arange(-1, width + 1).clamp(0, width - 1)
    bordered = image[..., rows, :, :][..., columns, :]
    return _Tile(bordered, torch.stack([across * width + 0.5, down * height + 0.5], dim=-1))


def _colour_tile(surface: Surface, filters: AbstractSet[str]) -> _Tile:
    """Return colours as a tile: four texels per face, between which bilinear interpolation is linear on the face, or
    one block.
    """
    dtype, faces = surface.vertices.dtype, surface.faces
    grey = torch.full((3,), _GREY, dtype=dtype, device=surface.vertices.device)
    if surface.colours is None or surface.colours.dim() == 1:
        colour = grey if surface.colours is None else surface.colours
        return _Tile(colour.expand(2, 2, 3), torch.full((len(faces), 3, 2), 0.5, dtype=dtype))
    if filters == {"nearest"}:
        raise InputError("join_surfaces: got vertex colours and a texture with the filter 'nearest'; use 'bilinear'")
    a, b, c = vertex_colours(surface, grey)[..., faces, :].unbind(-2)
    each = math.ceil(math.sqrt(len(faces)))
    blocks = torch.stack([torch.stack([a, b], dim=-2), torch.stack([c, b + c - a], dim=-2)], dim=-3)
    missing = each * each - len(faces)
    blocks = torch.cat(
        [blocks, torch.zeros_like(blocks[..., :1, :, :, :]).expand(*_block_shape(blocks, missing))], dim=-4
    )
    image = blocks.unflatten(-4, (each, each)).transpose(-4, -3).flatten(-5, -4).flatten(-3, -2)
    number = torch.arange(len(faces))
    first = 2.0 * torch.stack([number % each, number // each], dim=1).to(dtype)
    corner = torch.tensor([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], dtype=dtype)
    return _Tile(image, first[:, None] + corner)


def _block_shape(blocks: Tensor, count: int) -> tuple[int, ...]:
    """Return the shape of ``count`` blocks."""
    return (*(int(n) for n in blocks.shape[:-4]), count, 2, 2, 3)
