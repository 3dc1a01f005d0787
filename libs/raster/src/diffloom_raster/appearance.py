"""A surface's own colour as kernels read it: rows of values, and which of them the corners of faces use."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import torch
from torch import Tensor

from diffloom.interfaces import FaceMaterials, Surface

from .cut import Split
from .layout import Layout
from .normals import normals_of, vertex_normals
from .records import Corners
from .texture import texture_mode
from .topology import Topology, topology_of

#: Colour of a surface that has none.
GREY = 0.5


@dataclass(frozen=True)
class Appearance:
    """values: (rows, 3) colours or (rows, 2) texture coordinates; corners: rows used by the corners of faces.

    stride: rows from a frame's values to the next frame's, 0 where they serve all frames; ``corners`` names the first
    frame's. image: (rows, width, 3), the images of all frames below one another, one texel where there is no texture.
    mode: corners, bilinear, height and stride of ``Texels``.
    """

    values: Tensor
    corners: Corners
    stride: int
    image: Tensor
    textured: bool
    mode: tuple[int, int, int, int]


def appearance(surface: Surface, split: Split | None, layout: Layout | None = None) -> Appearance:
    """Of a surface whose faces may have been cut. layout: of its faces, where they were not, to save looking again."""
    texture = surface.texture
    values, index = _rows(surface)
    rows, width, stride = int(values.shape[-2]), int(values.shape[-1]), 0
    if split is not None and index is surface.faces:
        values = split.extend(values if values.dim() == 3 else values[None])
        index, rows = split.corners.long(), int(values.shape[0] * values.shape[1])
    elif split is not None:
        faces = index.faces if isinstance(index, Topology) else index
        values = split.corner_values(values[..., faces, :])
        rows = 3 * int(values.shape[0])
        index = _counted(rows // 3, str(values.device))
    elif values.dim() == 3:
        stride = rows
    if isinstance(index, Topology):
        corners = index.corners
    elif index is surface.faces and layout is not None and not layout.cut and layout.count == rows:
        corners = layout.corners
    else:
        corners = topology_of(index, rows).corners
    values = values if values.dim() == 2 else values.reshape(-1, width)  # autograd writes every view down
    if texture is None:
        image = no_image(surface.vertices.dtype, surface.vertices.device)
        return Appearance(values, corners, stride, image, False, (1, 1, 1, 0))
    image = texture.image if texture.image.dim() == 3 else texture.image.flatten(0, 1)
    return Appearance(values, corners, stride, image, True, texture_mode(texture))


@functools.lru_cache(maxsize=8)
def no_image(dtype: torch.dtype, device: torch.device) -> Tensor:
    """The one texel that stands in for a texture, and the one normal where nothing is lit: (1, 1, 3)."""
    return torch.zeros((1, 1, 3), dtype=dtype, device=device)


def _rows(surface: Surface) -> tuple[Tensor, Tensor | Topology]:
    """Values, with a leading axis where frames have their own, and their rows at the corners of faces."""
    faces, colours, texture = surface.faces, surface.colours, surface.texture
    if texture is not None:
        return texture.uv, faces if texture.uv_faces is None else texture.uv_faces
    count, device = int(faces.shape[0]), str(faces.device)
    if colours is None or colours.dim() == 1:
        flat = surface.vertices.new_full((3,), GREY) if colours is None else colours
        return flat[None], _repeated(count, 0, device)
    if colours.dim() == 3 and colours.shape[0] == 1:
        colours = colours[0]
    if surface.colour_per == "vertex":
        return colours, faces
    return colours, _repeated(count, 1, device)


@functools.lru_cache(maxsize=32)
def _repeated(faces: int, step: int, device: str) -> Topology:
    """Row step x face for all three corners."""
    index = (torch.arange(faces, device=device) * step)[:, None].expand(-1, 3).contiguous()
    return topology_of(index, faces if step else 1)


@functools.lru_cache(maxsize=8)
def _counted(triangles: int, device: str) -> Topology:
    """A row of its own for every corner."""
    return topology_of(torch.arange(3 * triangles, device=device).reshape(-1, 3), 3 * triangles)


def face_materials(surface: Surface, split: Split | None) -> Tensor:
    """(faces,) int32: the number of each face's material, of the triangles where faces were cut; empty where a surface
    has one."""
    if not isinstance(surface.material, FaceMaterials):
        return _no_numbers(str(surface.faces.device))
    numbers = surface.material.index.to(torch.int32)
    return numbers if split is None else numbers[split.face.long()]


@functools.lru_cache(maxsize=8)
def _no_numbers(device: str) -> Tensor:
    return torch.zeros(0, dtype=torch.int32, device=device)


def frames_of_points(surface: Surface, frames: int) -> Tensor:
    """Vertices (frames, vertices, 3): repeated where there is one frame for all."""
    vertices = surface.vertices
    return vertices if vertices.shape[0] == frames else vertices.expand(frames, -1, -1)


def point_normals(surface: Surface, split: Split | None, layout: Layout) -> Tensor:
    """Normals of every point of a layout's frames, those that cutting made included."""
    if split is not None:
        return split.extend(vertex_normals(surface.vertices, surface.faces))
    normals = normals_of(surface.vertices, layout.corners)
    return normals if normals.shape[0] == layout.frames else normals.expand(layout.frames, -1, -1)
