"""PyTorch3D back end: that library finds the fragments and blends them, through its public interface.

Its +x points left and +z into the scene, and rotations act on row vectors. Colours at the fragments come from
diffloom_raster, so that every light and texture filter looks the same as with the native back end and no texture is
copied for each of the faces at a pixel. Faces that reach behind the near plane are cut by the library: it shows the
edge between the two halves of the rest, and its gradients keep one of the two cuts fixed.
"""

from __future__ import annotations

import functools
import importlib
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from diffloom.interfaces import Camera, Image, InputError, Light, Surface
from diffloom_raster import GREY, compute_vertex_normals, sample_texture, shade

if TYPE_CHECKING:
    from .renderer import SoftRasRenderer

#: Number of faces at a pixel when all are wanted: the library keeps a fixed number, at most 150 on a GPU.
ALL_FACES = 100
#: Memory for the fragments of the frames drawn at once, and for one fragment with its gradients [bytes].
MEMORY, FRAGMENT = 2**30, 200


@functools.cache
def why_unavailable() -> str | None:
    """Return the reason why PyTorch3D cannot be used, or None."""
    try:
        importlib.import_module("pytorch3d.renderer")
    except (ImportError, RuntimeError, OSError) as cause:
        return f"unavailable: pytorch3d does not import ({type(cause).__name__}: {cause})"
    return None


def check_usable() -> None:
    """Raise InputError unless PyTorch3D can be imported."""
    reason = why_unavailable()
    if reason is not None:
        raise InputError(
            f'SoftRasRenderer(backend="pytorch3d") is {reason}; build it for your torch with pip install '
            '--no-build-isolation "git+https://github.com/facebookresearch/pytorch3d.git", or use backend="native", '
            "which draws the same"
        )


@functools.cache
def warn_of_cpu() -> None:
    """Warn once that drawing on the CPU is slow."""
    warnings.warn(
        "PyTorch3D draws on the CPU with a plain loop over pixels and faces, some hundred times slower than "
        'SoftRasRenderer(backend="native")',
        stacklevel=4,
    )


@functools.cache
def warn_of_faces(faces: int) -> None:
    """Warn once that not all faces count."""
    warnings.warn(
        f'SoftRasRenderer(backend="pytorch3d", faces_per_pixel=None) keeps the nearest {ALL_FACES} of {faces} faces at '
        "a pixel, since the library keeps a fixed number; with a large gamma the colours differ from the native back "
        "end's, which keeps all within reach. Set faces_per_pixel for both to draw alike",
        stacklevel=4,
    )


def render(
    settings: SoftRasRenderer, surface: Surface, camera: Camera, lights: Sequence[Light], outputs: Sequence[str],
    frames: int,
) -> Image:  # fmt: skip
    """Draw ``frames`` images, as many at a time as fit into MEMORY; the scene was checked before, the library was
    not.
    """
    check_usable()
    if not surface.vertices.is_cuda:
        warn_of_cpu()
    if settings.faces_per_pixel is None and int(surface.faces.shape[0]) > ALL_FACES:
        warn_of_faces(int(surface.faces.shape[0]))
    kept = min(settings.faces_per_pixel or ALL_FACES, int(surface.faces.shape[0]))
    at_once = max(1, MEMORY // (FRAGMENT * kept * camera.height * camera.width))
    vertices = surface.vertices.expand(frames, -1, -1)
    rotation, eye = camera.rotation.expand(frames, 3, 3), camera.eye.expand(frames, 3)
    parts = []
    for start in range(0, frames, at_once):
        part = slice(start, start + at_once)
        own = surface if len(surface) == 1 else surface.frames(part)
        drawing = _Drawing(settings, own, vertices[part], camera, rotation[part], eye[part], kept)
        parts.append(drawing.image(lights, outputs))

    def join(name: str) -> Tensor | None:
        found = [getattr(part, name) for part in parts]
        return None if found[0] is None else torch.cat(found)

    return Image(join("rgba"), join("silhouette"), join("depth"), join("face_index"))


class _Drawing:
    """Fragments of some frames, and the images made from them."""

    def __init__(
        self, settings: SoftRasRenderer, surface: Surface, vertices: Tensor, camera: Camera, rotation: Tensor,
        eye: Tensor, kept: int,
    ) -> None:  # fmt: skip
        self.library: Any = importlib.import_module("pytorch3d.renderer")
        self.settings, self.surface, self.vertices, self.camera, self.eye = settings, surface, vertices, camera, eye
        count = len(vertices)
        faces = surface.faces.expand(count, -1, -1)
        self.meshes = importlib.import_module("pytorch3d.structures").Meshes(vertices, faces)
        # The signs turn our axes (right, up, back) into the library's (left, up, forward).
        turned = rotation * rotation.new_tensor([[-1.0], [1.0], [-1.0]])
        size = torch.tensor([[camera.height, camera.width]], device=vertices.device).expand(count, 2)
        self.cameras = self.library.PerspectiveCameras(
            focal_length=camera.focal.expand(count, 2), principal_point=camera.centre.expand(count, 2),
            R=turned.transpose(1, 2), T=-(turned @ eye[..., None])[..., 0], in_ndc=False, image_size=size,
            device=vertices.device,
        )  # fmt: skip
        self.kept = kept

    def fragments(self, reach: float, kept: int) -> Any:
        """Return the fragments that the library finds; reach is a squared length where the short side spans 2."""
        settings = self.library.RasterizationSettings(
            image_size=(self.camera.height, self.camera.width), blur_radius=reach, faces_per_pixel=kept,
            perspective_correct=self.settings.perspective_correct, clip_barycentric_coords=True,
            cull_backfaces=self.settings.cull_backfaces, z_clip_value=self.camera.near,
        )  # fmt: skip
        return self.library.MeshRasterizer(self.cameras, settings)(self.meshes)

    def image(self, lights: Sequence[Light], outputs: Sequence[str]) -> Image:
        """Return the images that are wanted."""
        rgba = silhouette = depth = index = None
        sigma = self.settings.find_sigma(self.camera)
        if set(outputs) - {"face_index"}:
            found = self.fragments(self.settings.reach_in_sigma * sigma, self.kept)
            if "rgba" in outputs:
                rgba = self._blend(self._compute_colours(found, lights), found, sigma, self.settings.background)
            if "depth" in outputs:
                far = (self.camera.far,) * 3
                depth = self._blend(found.zbuf[..., None].expand(*found.zbuf.shape, 3), found, sigma, far)[..., 0]
            if "silhouette" in outputs:
                silhouette = rgba[..., 3] if rgba is not None else self._draw_silhouette(found, sigma)
        if "face_index" in outputs:
            packed = self.fragments(0.0, 1).pix_to_face[..., 0]
            index = torch.where(packed < 0, packed, packed % self.surface.faces.shape[0])
        return Image(rgba, silhouette, depth, index)

    def _draw_silhouette(self, found: Any, sigma: float) -> Tensor:
        params = self.library.BlendParams(sigma=sigma, gamma=self.settings.gamma)
        rgba: Tensor = self.library.SoftSilhouetteShader(params)(found, self.meshes)
        return rgba[..., 3]

    def _blend(self, colours: Tensor, found: Any, sigma: float, background: tuple[float, float, float]) -> Tensor:
        params = self.library.BlendParams(sigma=sigma, gamma=self.settings.gamma, background_color=background)
        blended: Tensor = self.library.softmax_rgb_blend(
            colours, found, params, znear=self.camera.near, zfar=self.camera.far
        )
        return blended

    def _compute_colours(self, found: Any, lights: Sequence[Light]) -> Tensor:
        """Return colours (frames, height, width, kept, 3), zero where there is no fragment."""
        surface = self.surface
        hit: Tensor = found.pix_to_face >= 0
        packed: Tensor = found.pix_to_face[hit]
        weights: Tensor = found.bary_coords[hit]
        frame, face = packed // surface.faces.shape[0], packed % surface.faces.shape[0]

        def mixed(values: Tensor, rows: Tensor) -> Tensor:
            return (values[rows] * weights[..., None]).sum(1)

        corners = surface.faces[face]
        colour = self._read_own_colours(frame, face, corners, mixed)
        (material,) = surface.materials
        if material.shading != "unlit":
            rows = corners + frame[:, None] * self.vertices.shape[1]
            normals = compute_vertex_normals(self.vertices, surface.faces).reshape(-1, 3)
            position, normal = mixed(self.vertices.reshape(-1, 3), rows), mixed(normals, rows)
            colour = shade(colour, position, normal, self.eye[frame], material, lights)
        empty = torch.zeros((*hit.shape, 3), dtype=colour.dtype, device=colour.device)
        return empty.masked_scatter(hit[..., None].expand_as(empty), colour)

    def _read_own_colours(
        self, frame: Tensor, face: Tensor, corners: Tensor, mixed: Callable[[Tensor, Tensor], Tensor]
    ) -> Tensor:
        surface = self.surface
        if surface.texture is not None:
            texture = surface.texture
            rows = corners if texture.uv_faces is None else texture.uv_faces[face]
            return sample_texture(texture, mixed(texture.uv, rows), frame)
        colours = surface.colours
        if colours is None:
            return torch.full((len(face), 3), GREY, dtype=self.vertices.dtype, device=face.device)
        if colours.dim() == 1:
            return colours.expand(len(face), 3)
        if colours.dim() == 3 and colours.shape[0] == 1:
            colours = colours[0]
        elif colours.dim() == 3:
            face, corners = face + frame * colours.shape[1], corners + frame[:, None] * colours.shape[1]
            colours = colours.reshape(-1, 3)
        return colours[face] if surface.colour_per == "face" else mixed(colours, corners)
