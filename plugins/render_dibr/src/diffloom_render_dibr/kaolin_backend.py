"""Kaolin back end: scenes drawn by that library, versions 0.15 to 0.18, on CUDA tensors.

Kaolin interpolates affinely on the image. Unless compat="kaolin" is set, features are divided by depth and passed
together with 1 / depth, so that the quotient of the results is perspective-correct. Faces are culled by the sign of
their projected area, or with compat by their normal's z. The soft mask is Kaolin's own either way.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from diffloom.interfaces import Camera, Image, InputError, Light, Surface
from diffloom_raster import GREY, compute_vertex_normals, project, sample_texture, shade, to_camera_axes

if TYPE_CHECKING:
    from .renderer import DibrRenderer

#: Position of faces that must not be shown: outside of the image and out of the mask's reach.
AWAY = 1e3


def import_kaolin_mesh() -> Any:
    """Return the module kaolin.render.mesh, imported on first use because that takes seconds."""
    return importlib.import_module("kaolin.render.mesh")


#: Page that says how Kaolin is installed: each of its wheels fits one PyTorch and one CUDA.
PAGE = "https://kaolin.readthedocs.io/en/latest/notes/installation.html"


@functools.cache
def why_unavailable() -> str | None:
    """Return the reason why Kaolin cannot be used, or None."""
    try:
        import_kaolin_mesh()
    except (ImportError, RuntimeError, OSError) as cause:
        return f"unavailable: kaolin does not import ({type(cause).__name__}: {cause})"
    return None


def check_usable(vertices: Tensor) -> None:
    """Raise InputError unless Kaolin can draw these vertices."""
    reason = why_unavailable()
    if reason is not None:
        raise InputError(
            f'DibrRenderer(backend="kaolin") is {reason}; install it as {PAGE} says (the kaolin of PyPI is a '
            'placeholder that cannot be imported), or use backend="native", which draws the same with compat="kaolin"'
        )
    if not vertices.is_cuda:
        raise InputError(
            f"Surface.vertices is on {vertices.device} and Kaolin's rasteriser needs CUDA; move the scene to a GPU, or "
            'use backend="native", which draws the same with compat="kaolin"'
        )


def render(
    settings: DibrRenderer, surface: Surface, camera: Camera, lights: Sequence[Light], outputs: Sequence[str],
    frames: int,
) -> Image:  # fmt: skip
    """Draw ``frames`` images; the scene was checked before, the library was not."""
    check_usable(surface.vertices)
    vertices = surface.vertices.expand(frames, -1, -1)
    screen = project(vertices, camera)
    corners = screen[:, surface.faces]
    facing, away = _find_facing(settings, vertices, surface.faces, camera, corners)
    scale = screen.new_tensor([2.0 / camera.width, -2.0 / camera.height])
    place = torch.where(away[..., None, None], AWAY, corners[..., :2] * scale)
    depth = torch.where(away[..., None], camera.far, corners[..., 2])
    features = _collect_features(surface, vertices, depth, "rgba" in outputs)
    correct = settings.compat is None
    if correct:
        features = torch.cat([features, torch.ones_like(features[..., :1])], dim=-1) / depth[..., None]
    values, mask, index = import_kaolin_mesh().dibr_rasterization(
        camera.height, camera.width, -depth, place, features, facing, sigmainv=settings.sigmainv,
        boxlen=settings.reach, knum=settings.knum or int(surface.faces.shape[0]),
    )  # fmt: skip
    covered = index >= 0
    if correct:
        values = values[..., :-1] / torch.where(covered, values[..., -1], 1.0)[..., None]
    return _make_image(settings, surface, camera, lights, outputs, values, mask, index, covered)


def _find_facing(
    settings: DibrRenderer, vertices: Tensor, faces: Tensor, camera: Camera, corners: Tensor
) -> tuple[Tensor, Tensor]:
    """Return numbers that are negative for faces not to be drawn, and True for faces to be moved out of the image.

    The numbers replace the z of normals.
    """
    with torch.no_grad():
        away = (corners[..., 2] < camera.near).any(-1)
        (ax, ay, _), (bx, by, _), (cx, cy, _) = (corners[:, :, k].unbind(-1) for k in range(3))
        facing = (by - ay) * (cx - ax) - (bx - ax) * (cy - ay)
        if settings.compat is not None:
            a, b, c = to_camera_axes(vertices, camera)[:, faces].unbind(2)
            facing = torch.linalg.cross(b - a, c - a)[..., 2]
        if not settings.culls:
            facing = torch.ones_like(facing)
        return torch.where(away, -1.0, facing), away


def _collect_features(surface: Surface, vertices: Tensor, depth: Tensor, colour: bool) -> Tensor:
    """Return features (frames, faces, 3, n): depth, then own colour or u, v, then normal and position if lit."""
    frames, faces = vertices.shape[0], surface.faces
    parts = [depth[..., None]]
    if colour and surface.texture is not None:
        rows = faces if surface.texture.uv_faces is None else surface.texture.uv_faces
        parts.append(surface.texture.uv[rows].expand(frames, -1, -1, -1))
    elif colour:
        own = vertices.new_full((3,), GREY) if surface.colours is None else surface.colours
        per_vertex = own.dim() > 1 and surface.colour_per == "vertex"
        at_corners = own[..., faces, :] if per_vertex else own.expand(*own.shape[:-2], faces.shape[0], 3)[..., None, :]
        parts.append(at_corners.expand(frames, -1, 3, -1))
    if colour and surface.materials[0].shading != "unlit":
        parts += [compute_vertex_normals(vertices, faces)[:, faces], vertices[:, faces]]
    return torch.cat(parts, dim=-1)


def _make_image(
    settings: DibrRenderer, surface: Surface, camera: Camera, lights: Sequence[Light], outputs: Sequence[str],
    values: Tensor, mask: Tensor, index: Tensor, covered: Tensor,
) -> Image:  # fmt: skip
    """Return the images that are wanted from the library's results."""
    rgba = None
    if "rgba" in outputs:
        frame = covered.nonzero()[:, 0]
        shown = values[covered]
        own = shown[:, 1:3] if surface.texture is not None else shown[:, 1:4]
        colour = own if surface.texture is None else sample_texture(surface.texture, own, frame)
        (material,) = surface.materials
        if material.shading != "unlit":
            eye = camera.eye if camera.eye.dim() == 1 else camera.eye[frame]
            lit = shown[:, 1 + own.shape[1] :]
            colour = shade(colour, lit[:, 3:6], lit[:, :3], eye, material, lights)
        ground = values.new_tensor(settings.background).expand(*covered.shape, 3)
        rgb = ground.masked_scatter(covered[..., None], colour)
        rgba = torch.cat([rgb, mask[..., None]], dim=-1)
    depth = torch.where(covered, values[..., 0], camera.far) if "depth" in outputs else None
    return Image(rgba, mask if "silhouette" in outputs else None, depth, index if "face_index" in outputs else None)
