"""Parts that renderers with fused pipelines share: near plane, tensors of a scene, faces of triangles.

Such a renderer is an autograd function of ``SceneTensors``: ``draw_in_front`` calls it with a layout and points, and
``read_scene`` makes the tensors from a surface, a camera and lights.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from diffloom.interfaces import (
    AmbientLight,
    Camera,
    HarmonicLight,
    Image,
    Light,
    Material,
    PointLight,
    Surface,
    Texture,
)
from diffloom_kernels import as_array

from .layout import BehindNearError, ImageLayout, find_whole_layout, make_cut_layout
from .lighting import find_strongest_shading, make_light_tables, make_no_lights
from .projection import NearCut, clip_near, read_camera
from .records import Cameras, Lights, Texels
from .surfaces import SurfaceAppearance, compute_point_normals, make_empty_image, read_appearance, read_face_materials


class SceneTensors(NamedTuple):
    """Tensors that may carry gradients, in the order in which autograd functions of renderers take them.

    Also holds flags or cotangents by the same names.

    Args:
        points: (frames, count, 3) [m].
        rotation: (frames or 1, 3, 3), see ``read_camera``.
        eye: (frames or 1, 3) [m].
        focal: (2,) [px].
        centre: (2,) [px].
        normals: (frames, count, 3) normals of the points; (1, 1, 3) zeros where nothing is lit.
        values: Colours or texture coordinates, see ``SurfaceAppearance``.
        image: Texture, see ``SurfaceAppearance``.
        ambient: Ambient light, see ``records.Lights``.
        table: Table of lights, see ``records.Lights``.
        harmonics: Coefficients of light from all around, see ``records.Lights``.
        shininess: Exponents of highlights, see ``records.Lights``.
    """

    points: Any
    rotation: Any
    eye: Any
    focal: Any
    centre: Any
    normals: Any
    values: Any
    image: Any
    ambient: Any
    table: Any
    harmonics: Any
    shininess: Any

    @property
    def camera(self) -> tuple[Any, ...]:
        """Rotation, eye, focal and centre."""
        return self[1:5]

    @property
    def lighting(self) -> tuple[Any, ...]:
        """Ambient light, table, harmonics and shininess."""
        return self[8:]

    def cameras(self) -> Cameras:
        """Return the camera as kernels read it.

        Returns:
            Arrays that share memory with the tensors.
        """
        return Cameras(*map(as_array, self.camera))

    def lights(self, kinds: Any) -> Lights:
        """Return the lights as kernels read them.

        Args:
            kinds: Kinds of the lights, see ``records.Lights``.

        Returns:
            Arrays that share memory with the tensors.
        """
        ambient, *others = map(as_array, self.lighting)
        return Lights(ambient, kinds, *others)

    def texels(self, appearance: SurfaceAppearance) -> Texels:
        """Return the texture as kernels read it.

        Args:
            appearance: Appearance that the image belongs to.

        Returns:
            Arrays that share memory with the tensors.
        """
        return Texels(*appearance.mode, as_array(self.image))


class SceneStyle(NamedTuple):
    """Properties of a scene that carry no gradients.

    Args:
        appearance: Colours and texture of the surface.
        shading: 0 unlit, 1 lambert, 2 phong.
        kinds: Kinds of the lights, see ``records.Lights``.
        material: (faces,) number of each face's material, empty where there is one.
    """

    appearance: SurfaceAppearance
    shading: int
    kinds: Any
    material: Any

    @property
    def lit(self) -> bool:
        """True if lights matter."""
        return self.shading > 0


def read_scene(
    surface: Surface, camera: Camera, lights: Sequence[Light], layout: ImageLayout, points: Tensor,
    split: NearCut | None, *, colour: bool = True,
) -> tuple[SceneStyle, SceneTensors]:  # fmt: skip
    """Return a scene as renderers with fused pipelines take it.

    Args:
        surface: Surface to draw.
        camera: Camera that sees it.
        lights: Lights, none for ``DEFAULT_LIGHTS``.
        layout: Layout of the images.
        points: Points of the layout, (frames, count, 3) [m].
        split: Cut that the near plane made, or None.
        colour: False where colours are not wanted; nothing is lit then.

    Returns:
        Properties without gradients, and tensors that may carry them.
    """
    made, kind, device = read_appearance(surface, split, layout), points.dtype, points.device
    shading = find_strongest_shading(surface.materials) if colour else 0
    tables, normals = make_no_lights(kind, device), make_empty_image(kind, device)
    if shading:
        tables = make_light_tables(surface.materials, lights, kind, device)
        normals = compute_point_normals(surface, split, layout)
    style = SceneStyle(made, shading, as_array(tables.kinds), as_array(read_face_materials(surface, split)))
    light = tables.ambient, tables.table, tables.harmonics, tables.shininess
    return style, SceneTensors(points, *read_camera(camera), normals, made.values, made.image, *light)


def draw_in_front(
    surface: Surface, camera: Camera, frames: int, target: str,
    draw: Callable[[ImageLayout, Tensor, NearCut | None], Image], unit_plane: bool = False,
) -> Image:  # fmt: skip
    """Return the image of a surface, whose faces are cut at the near plane where some point is nearer.

    Args:
        surface: Surface to draw.
        camera: Camera that sees it.
        frames: Number of images.
        target: Where kernels run.
        draw: Called with a layout, its points (frames, count, 3) [m] and the cut, None at first. Raises BehindNearError
            where a point of an uncut layout is nearer than the camera's near; it is then called again.
        unit_plane: Pixel centres lie in [-1, 1], y up; see ``ImageLayout``.

    Returns:
        The image that ``draw`` made.
    """
    vertices = surface.vertices
    vertices = vertices if vertices.shape[0] == frames else vertices.expand(frames, -1, -1)
    try:
        return draw(find_whole_layout(surface.faces, vertices, camera, target, unit_plane), vertices, None)
    except BehindNearError:
        split = clip_near(vertices, surface.faces, camera)
        assert split is not None
        points = split.extend(vertices)
        return draw(make_cut_layout(split, points, camera, target), points, split)


def find_faces(triangle: Tensor, faces: int, split: NearCut | None) -> Tensor:
    """Return faces of a surface from numbers of triangles through all frames; -1 stays.

    Args:
        triangle: Numbers of triangles, whole numbers of any shape.
        faces: Number of faces of the surface.
        split: Cut that the near plane made, or None.

    Returns:
        Faces, int64, in the shape of ``triangle``.
    """
    if split is None:
        return torch.where(triangle >= 0, triangle % faces, -1).long()
    if split.face.shape[0] == 0:
        return torch.full_like(triangle, -1, dtype=torch.int64)
    return torch.where(triangle >= 0, split.face[triangle.clamp_min(0).long()], -1).long()


def make_sample_scene(dtype: Any) -> tuple[Surface, Camera, tuple[Light, ...]]:
    """Return a tiny scene that needs every pipeline of a renderer, two frames of one triangle, all with gradients.

    Renderers record their pipelines' arguments while they draw it: types for the CUDA check.

    Args:
        dtype: float32 or float64, as numpy names them.

    Returns:
        Surface, camera and lights.
    """
    kind = torch.float64 if np.dtype(dtype) == np.float64 else torch.float32
    vertices = torch.zeros((2, 3, 3), dtype=kind, requires_grad=True)
    camera = Camera.look_at(torch.tensor([[0.0, 0.0, 3.0], [0.0, 0.0, 3.0]], dtype=kind), size=(8, 8), dtype=kind)
    camera = replace(camera, eye=camera.eye.clone().requires_grad_())
    image = torch.zeros((2, 2, 3), dtype=kind, requires_grad=True)
    texture = Texture(image, torch.zeros((3, 2), dtype=kind, requires_grad=True))
    surface = Surface(vertices, torch.tensor([[0, 1, 2]]), texture=texture, material=Material("phong"))
    return surface, camera, (AmbientLight(), PointLight(), HarmonicLight(torch.zeros(9, dtype=kind).requires_grad_()))
