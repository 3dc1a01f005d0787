"""Colours of a surface as kernels read them: rows of values, the rows at the corners of faces, and textures."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from diffloom.errors import InputError
from diffloom.interfaces import FaceMaterials, Surface, Texture
from diffloom.transforms import once_differentiable
from diffloom.validation import check_shape
from diffloom_kernels import Arena, as_array

from .layout import ImageLayout, Topology, find_topology
from .lighting import compute_normals, compute_vertex_normals
from .pipelines import program
from .projection import NearCut
from .records import Corners, Texels

#: Red, green and blue of a surface without a colour.
GREY = 0.5


@dataclass(frozen=True)
class SurfaceAppearance:
    """Colours of a surface as kernels read them.

    Args:
        values: (rows, 3) colours or (rows, 2) texture coordinates.
        corners: Rows at the corners of faces, those of the first frame where frames have their own.
        stride: Rows from a frame's values to the next frame's, 0 where they serve all frames.
        image: (rows, width, 3), the images of all frames below one another; one texel where there is no texture.
        textured: True if values are texture coordinates.
        mode: Fields corners, bilinear, height and stride of ``Texels``.
    """

    values: Tensor
    corners: Corners
    stride: int
    image: Tensor
    textured: bool
    mode: tuple[int, int, int, int]


def read_appearance(surface: Surface, split: NearCut | None, layout: ImageLayout | None = None) -> SurfaceAppearance:
    """Return the colours of a surface as rows.

    Args:
        surface: Surface to draw.
        split: Cut that the near plane made, or None.
        layout: Layout of uncut faces; its topology is used again where colours belong to vertices.

    Returns:
        Values, their rows at the corners, and the texture.
    """
    texture = surface.texture
    values, index = _read_rows(surface)
    rows, width, stride = int(values.shape[-2]), int(values.shape[-1]), 0
    if split is not None and index is surface.faces:
        values = split.extend(values if values.dim() == 3 else values[None])
        index, rows = split.corners.long(), int(values.shape[0] * values.shape[1])
    elif split is not None:
        faces = index.faces if isinstance(index, Topology) else index
        values = split.corner_values(values[..., faces, :])
        rows = 3 * int(values.shape[0])
        index = _number_corners(rows // 3, str(values.device))
    elif values.dim() == 3:
        stride = rows
    if isinstance(index, Topology):
        corners = index.corners
    elif index is surface.faces and layout is not None and not layout.cut and layout.count == rows:
        corners = layout.corners
    else:
        corners = find_topology(index, rows).corners
    values = values if values.dim() == 2 else values.reshape(-1, width)  # autograd records every view
    if texture is None:
        image = make_empty_image(surface.vertices.dtype, surface.vertices.device)
        return SurfaceAppearance(values, corners, stride, image, False, (1, 1, 1, 0))
    image = texture.image if texture.image.dim() == 3 else texture.image.flatten(0, 1)
    return SurfaceAppearance(values, corners, stride, image, True, read_texture_mode(texture))


@functools.lru_cache(maxsize=8)
def make_empty_image(dtype: torch.dtype, device: torch.device) -> Tensor:
    """Return one black texel (1, 1, 3): the texture of a surface without one, and the normals where nothing is lit."""
    return torch.zeros((1, 1, 3), dtype=dtype, device=device)


def _read_rows(surface: Surface) -> tuple[Tensor, Tensor | Topology]:
    """Return values, with a leading axis where frames have their own, and their rows at the corners of faces."""
    faces, colours, texture = surface.faces, surface.colours, surface.texture
    if texture is not None:
        return texture.uv, faces if texture.uv_faces is None else texture.uv_faces
    count, device = int(faces.shape[0]), str(faces.device)
    if colours is None or colours.dim() == 1:
        flat = surface.vertices.new_full((3,), GREY) if colours is None else colours
        return flat[None], _repeat_rows(count, 0, device)
    if colours.dim() == 3 and colours.shape[0] == 1:
        colours = colours[0]
    if surface.colour_per == "vertex":
        return colours, faces
    return colours, _repeat_rows(count, 1, device)


@functools.lru_cache(maxsize=32)
def _repeat_rows(faces: int, step: int, device: str) -> Topology:
    """Return the topology that has row step x face at all three corners."""
    index = (torch.arange(faces, device=device) * step)[:, None].expand(-1, 3).contiguous()
    return find_topology(index, faces if step else 1)


@functools.lru_cache(maxsize=8)
def _number_corners(triangles: int, device: str) -> Topology:
    """Return the topology that has a separate row at every corner."""
    return find_topology(torch.arange(3 * triangles, device=device).reshape(-1, 3), 3 * triangles)


def read_face_materials(surface: Surface, split: NearCut | None) -> Tensor:
    """Return the number of each face's material, or of each triangle's where faces were cut: int32, empty for one
    material.
    """
    if not isinstance(surface.material, FaceMaterials):
        return _make_no_numbers(str(surface.faces.device))
    numbers = surface.material.index.to(torch.int32)
    return numbers if split is None else numbers[split.face.long()]


@functools.lru_cache(maxsize=8)
def _make_no_numbers(device: str) -> Tensor:
    """Return an empty tensor of numbers."""
    return torch.zeros(0, dtype=torch.int32, device=device)


def compute_point_normals(surface: Surface, split: NearCut | None, layout: ImageLayout) -> Tensor:
    """Return normals of every point of a layout's frames, including the points that cutting made."""
    if split is not None:
        return split.extend(compute_vertex_normals(surface.vertices, surface.faces))
    normals = compute_normals(surface.vertices, layout.corners)
    return normals if normals.shape[0] == layout.frames else normals.expand(layout.frames, -1, -1)


#: Time to read one point, roughly [ns].
PER_POINT = 20.0
#: Largest number of copies that a texture's cotangent is summed in, and their memory [bytes].
COPIES, COPIES_MEMORY = 8, 256 * 2**20


def sample_texture(texture: Texture, uv: Tensor, frame: Tensor | None = None) -> Tensor:
    """Return colours of a texture.

    Args:
        texture: Texture to read. Differentiable in its image.
        uv: (..., 2), u to the right, v up, both 0..1, clamped at the border. Differentiable with the bilinear filter.
        frame: (...) whole numbers, the frame whose image each point reads; needed where the texture has several.

    Returns:
        (..., 3) red, green, blue.
    """
    check_texture(texture)
    check_shape("uv", uv.reshape(-1, uv.shape[-1]), ("points", 2))
    mode, frames = read_texture_mode(texture), count_texture_frames(texture)
    chosen = torch.empty(0, dtype=torch.int32, device=uv.device)
    if frames > 1:
        chosen = _check_frames(frame, uv, frames)
    image = texture.image.reshape(-1, *texture.image.shape[-2:])
    colours: Tensor = _Sample.apply(mode, chosen, image, uv)  # type: ignore[no-untyped-call]
    return colours


def read_texture_mode(texture: Texture) -> tuple[int, int, int, int]:
    """Return the fields of ``Texels`` besides the image: corners, bilinear, height, stride."""
    height = int(texture.image.shape[-3])
    stride = height if count_texture_frames(texture) > 1 else 0
    return int(texture.corners), int(texture.filter == "bilinear"), height, stride


def count_texture_frames(texture: Texture) -> int:
    """Return the number of frames with an image of their own; 1 where one image serves all."""
    return int(texture.image.shape[0]) if texture.image.dim() == 4 else 1


def _check_frames(frame: Tensor | None, uv: Tensor, frames: int) -> Tensor:
    """Return the frames of points, flat and as int32, after a check of their range."""
    if frame is None:
        raise InputError(f"sample_texture: the texture has {frames} images; give frame=, the image of each point")
    check_shape("frame", frame, tuple(uv.shape[:-1]))
    if frame.numel() and not 0 <= int(frame.min()) <= int(frame.max()) < frames:
        raise InputError(
            f"frame: numbers run from {int(frame.min())} to {int(frame.max())}; expected 0 to {frames - 1}, one less "
            "than the texture's images"
        )
    return frame.reshape(-1).to(torch.int32)


def check_texture(texture: Texture) -> None:
    """Raise InputError unless the texture has texels."""
    if 0 in texture.image.shape[:-1]:
        raise InputError(f"Texture.image: got {tuple(texture.image.shape)}; expected at least one row and one column")


def count_texture_copies(image: Any, stripes: int = 1) -> int:
    """Return the number of copies that a texture's cotangent is summed in.

    It depends on sizes alone, so that the number of threads changes no bit.

    Args:
        image: (rows, width, 3), the rows of all frames.
        stripes: Copies that are filled at a time, see ``ImageLayout.stripes``.

    Returns:
        1 to 8.
    """
    memory = 8 * int(image.shape[0]) * int(image.shape[1]) * 3 * stripes
    return max(1, min(COPIES, COPIES_MEMORY // memory))


class _Sample(torch.autograd.Function):
    """Autograd function (mode, frame, image (rows of all frames, width, 3), uv) -> colours."""

    @staticmethod
    def forward(ctx: Any, mode: tuple[int, int, int, int], frame: Tensor, image: Tensor, uv: Tensor) -> Tensor:
        points = as_array(uv).reshape(-1, 2)
        colour = Arena.of(uv).floats(len(points), 3)
        texels, work = Texels(*mode, as_array(image)), len(points) * PER_POINT
        program.run("sample_points", texels, points, as_array(frame), colour, work=work)
        ctx.mode, ctx.frame = mode, frame
        ctx.save_for_backward(image, uv)
        return Arena.of(uv).tensor(colour).reshape(*uv.shape[:-1], 3)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, adj_colour: Tensor) -> tuple[Any, ...]:
        image, uv = ctx.saved_tensors
        arena, points, frame = Arena.of(uv), as_array(uv).reshape(-1, 2), as_array(ctx.frame)
        mode: tuple[int, int, int, int] = ctx.mode
        texels = Texels(*mode, as_array(image))
        adj, adj_uv, work = as_array(adj_colour).reshape(-1, 3), arena.floats(*points.shape), len(points) * PER_POINT
        program.run("sample_points_adjoint", texels, points, frame, adj, adj_uv, work=work)
        adj_image = None
        if ctx.needs_input_grad[2]:
            copies = arena.floats(count_texture_copies(image), *image.shape)
            columns = as_array(uv.reshape(-1, 2).T), as_array(adj_colour.reshape(-1, 3).T)
            program.run("sample_image_adjoint", texels, *columns[0], frame, columns[1], copies, work=work)
            adj_image = arena.tensor(copies[0])
        return None, None, adj_image, arena.tensor(adj_uv).reshape(uv.shape)
