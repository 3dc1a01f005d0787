"""Checks of a scene before it is drawn."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from diffloom.interfaces import Camera, Capabilities, FaceMaterials, InputError, Light, Surface
from diffloom.transforms import refuse_transforms
from diffloom.validation import check_choice, check_magnitude

from .projection import count_frames
from .surfaces import check_texture


def check_scene(
    surface: Surface, camera: Camera, lights: Sequence[Light], outputs: Sequence[str], capabilities: Capabilities
) -> int:
    """Return the number of frames to draw, after checks that the scene can be drawn.

    Args:
        surface: Surface to draw.
        camera: Camera that sees it.
        lights: Lights, none for ``DEFAULT_LIGHTS``.
        outputs: Names of the images wanted.
        capabilities: Capabilities of the renderer.

    Returns:
        Number of frames.

    Raises:
        InputError: The renderer cannot draw the scene; the message names the field.
    """
    if not outputs:
        raise InputError(f"outputs: got none; expected some of {', '.join(sorted(capabilities.outputs))}")
    for name in outputs:
        check_choice("outputs", name, capabilities.outputs)
    vertices = surface.vertices
    parts = (surface, surface.texture, camera, *surface.materials, *lights)
    refuse_transforms("render", (t for part in parts for t in _list_tensors(part)))
    if vertices.shape[0] == 0:
        raise InputError("Surface.vertices: got no frames; expected at least one")
    if surface.faces.shape[0] == 0:
        raise InputError("Surface.faces: got no faces; expected at least one triangle to draw")
    if vertices.dtype not in capabilities.dtypes:
        allowed = ", ".join(sorted(str(kind) for kind in capabilities.dtypes))
        wanted = allowed.replace("torch.", "")
        raise InputError(
            f"Surface.vertices: got {vertices.dtype}, and this renderer draws in {allowed}; set precision = "
            f'"{wanted}" (in Python: model.params({allowed})), or use the native back end'
        )
    _check_numbers(surface, camera)
    if isinstance(surface.material, FaceMaterials) and not capabilities.materials:
        raise InputError(
            f"Surface.material: got {len(surface.materials)} materials, and this renderer draws one for all faces; use "
            "a renderer whose capabilities.materials is true (softras or dibr, native), or one material for all bodies"
        )
    for material in surface.materials:
        check_choice("Material.shading", material.shading, capabilities.shadings)
    if surface.texture is not None:
        _check_texture(surface)
    return count_frames(vertices, camera, _check_appearance(surface, capabilities))


def _list_tensors(part: object) -> list[Tensor]:
    """Return the tensors among the fields of a part of a scene."""
    return [value for value in getattr(part, "__dict__", {}).values() if isinstance(value, Tensor)]


def check_rgb(what: str, value: Sequence[float]) -> None:
    """Raise InputError unless a setting holds three finite numbers.

    Args:
        what: Name of the setting in messages.
        value: Red, green and blue.
    """
    if len(value) != 3 or not all(math.isfinite(float(c)) for c in value):
        raise InputError(f"{what}: got {value!r}; expected three numbers r, g, b")


def check_limit(what: str, value: int | None) -> None:
    """Raise InputError unless a setting is None, for no limit, or a whole number, 1 or more.

    Args:
        what: Name of the setting in messages.
        value: The limit.
    """
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
        raise InputError(f"{what}: got {value!r}; expected 1 or more, or None for no limit; a whole number")


def _check_appearance(surface: Surface, capabilities: Capabilities) -> dict[str, int]:
    """Return the frames of colours and of a texture's images that differ by frame; refuse those the renderer cannot
    draw.
    """
    found = {}
    if surface.colours is not None and surface.colours.dim() == 3:
        found["Surface.colours"] = int(surface.colours.shape[0])
    if surface.texture is not None and surface.texture.image.dim() == 4:
        found["Texture.image"] = int(surface.texture.image.shape[0])
    for what, frames in found.items():
        if what.split(".")[1] not in capabilities.per_frame:
            raise InputError(
                f"{what}: got one for each of {frames} frames, and this renderer draws one for all frames; use a "
                "renderer whose capabilities.per_frame names it, or draw frame by frame"
            )
    return found


def _check_numbers(surface: Surface, camera: Camera) -> None:
    """Check that all tensors have one precision, one device and finite numbers."""
    vertices = surface.vertices
    given: dict[str, Tensor | None] = {
        "Surface.vertices": vertices, "Surface.colours": surface.colours, "Camera.rotation": camera.rotation,
        "Camera.eye": camera.eye, "Camera.focal": camera.focal, "Camera.centre": camera.centre,
    }  # fmt: skip
    if surface.texture is not None:
        given["Texture.image"], given["Texture.uv"] = surface.texture.image, surface.texture.uv
    for what, tensor in given.items():
        if tensor is None:
            continue
        if tensor.dtype != vertices.dtype:
            raise InputError(
                f"{what} is {tensor.dtype} but Surface.vertices is {vertices.dtype}; convert one with .to(...)"
            )
        if tensor.device != vertices.device:
            raise InputError(
                f"{what} is on {tensor.device} and Surface.vertices on {vertices.device}; move one of them"
            )
        check_magnitude(what, tensor)


def _check_texture(surface: Surface) -> None:
    """Check that texture coordinates fit the vertices or the faces."""
    texture = surface.texture
    assert texture is not None
    check_texture(texture)
    points = texture.uv.shape[0]
    if texture.uv_faces is None:
        if points != surface.vertices.shape[1]:
            raise InputError(
                f"Texture.uv: got {points} rows for {surface.vertices.shape[1]} vertices; expected one per vertex, or "
                "give uv_faces to say which rows the corners of a face use"
            )
        return
    faces = texture.uv_faces
    if faces.shape != surface.faces.shape or faces.dtype != torch.int64:
        raise InputError(
            f"Texture.uv_faces: got {tuple(faces.shape)} of {faces.dtype}; expected int64 of shape "
            f"{tuple(surface.faces.shape)}, like Surface.faces"
        )
    if not 0 <= int(faces.min()) <= int(faces.max()) < points:
        raise InputError(
            f"Texture.uv_faces: indices run from {int(faces.min())} to {int(faces.max())}; expected 0 to {points - 1}"
        )
