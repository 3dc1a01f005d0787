"""Surfaces: a triangle mesh over time, its appearance, and the stress at its vertices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import torch
from torch import Tensor

from diffloom.errors import InputError
from diffloom.interfaces.light import Colour
from diffloom.validation import check_choice, check_shape

#: Units of stress; if bodies of a world differ, the first is kept.
UNITS = ("Pa", "N/m")


@dataclass(frozen=True)
class Material:
    """Reflectance of a surface; factors have no unit.

    Args:
        shading: "unlit" shows the colour itself; "lambert" adds ambient and diffuse light; "phong" adds highlights.
        ambient: Factor on ambient light, () or (3,).
        diffuse: Factor on diffuse light, () or (3,).
        specular: Factor on highlights, () or (3,).
        shininess: Exponent of the highlights, ().
    """

    shading: Literal["unlit", "lambert", "phong"] = "unlit"
    ambient: Colour = 1.0
    diffuse: Colour = 1.0
    specular: Colour = 1.0
    shininess: Tensor | float = 64.0

    def __post_init__(self) -> None:
        check_choice("Material.shading", self.shading, ("unlit", "lambert", "phong"))


@dataclass(frozen=True)
class FaceMaterials:
    """Several materials on one surface; renderers that support them say so in ``Capabilities.materials``.

    Args:
        materials: Materials.
        index: Number of the material of each face (faces,), int64.
    """

    materials: tuple[Material, ...]
    index: Tensor

    def __post_init__(self) -> None:
        if not self.materials or not all(isinstance(material, Material) for material in self.materials):
            raise InputError(f"FaceMaterials.materials: got {self.materials!r}; expected one Material or more")
        check_shape("FaceMaterials.index", self.index, ("faces",))
        if self.index.dtype != torch.int64:
            raise InputError(f"FaceMaterials.index: got {self.index.dtype}; expected int64 numbers of materials")
        if self.index.numel():
            least, most = (int(bound) for bound in torch.aminmax(self.index))
            if not 0 <= least <= most < len(self.materials):
                raise InputError(
                    f"FaceMaterials.index: numbers run from {least} to {most}; expected 0 to {len(self.materials) - 1}"
                )

    @property
    def shading(self) -> str:
        """Raise InputError, because there is no single shading for code that supports one material only."""
        raise InputError(
            f"Surface.material: got {len(self.materials)} materials on different faces; expected one; render it with "
            "softras or dibr, or give all bodies the same material"
        )


@dataclass(frozen=True)
class Texture:
    """Image mapped onto the mesh.

    Args:
        image: (height, width, 3), or (frames, height, width, 3) to change over time; values 0..1, row 0 on top.
        uv: Texture coordinates (points, 2), u to the right and v up, both 0..1.
        uv_faces: (faces, 3) indices into uv; None if uv has one row per vertex.
        filter: "bilinear" or "nearest".
        corners: True to put u = 0 and 1 on the centres of the border texels, False on their outer edges.
    """

    image: Tensor
    uv: Tensor
    uv_faces: Tensor | None = None
    filter: Literal["bilinear", "nearest"] = "bilinear"
    corners: bool = True

    def __post_init__(self) -> None:
        check_shape("Texture.image", self.image, ("height", "width", 3), ("frames", "height", "width", 3))
        check_shape("Texture.uv", self.uv, ("points", 2))
        if self.uv_faces is not None:
            check_shape("Texture.uv_faces", self.uv_faces, ("faces", 3))
        check_choice("Texture.filter", self.filter, ("bilinear", "nearest"))


@dataclass(frozen=True)
class Surface:
    """Triangle mesh with moving vertices.

    Vertices, colours and texture images have the same number of frames, or 1 if they do not change. The renderer
    computes normals.

    Args:
        vertices: (frames, vertices, 3) [m], in the world.
        faces: (faces, 3) int64, counter-clockwise seen from outside.
        colours: None (mid grey), (3,) for all, (faces, 3) or (vertices, 3) rgb in 0..1, or these with a leading axis of
            frames.
        colour_per: "vertex" or "face", the meaning of the rows of ``colours``.
        texture: Texture instead of colours.
        material: Material of all faces, or FaceMaterials.
    """

    vertices: Tensor
    faces: Tensor
    colours: Tensor | None = None
    colour_per: Literal["vertex", "face"] = "vertex"
    texture: Texture | None = None
    material: Material | FaceMaterials = field(default_factory=Material)

    def __post_init__(self) -> None:
        check_shape("Surface.vertices", self.vertices, ("frames", "vertices", 3))
        check_shape("Surface.faces", self.faces, ("faces", 3))
        check_choice("Surface.colour_per", self.colour_per, ("vertex", "face"))
        if self.faces.dtype != torch.int64:
            raise InputError(f"Surface.faces: got {self.faces.dtype}; expected int64 vertex indices")
        count = self.vertices.shape[1]
        if self.faces.numel():
            least, most = (int(bound) for bound in torch.aminmax(self.faces))
            if not 0 <= least <= most < count:
                raise InputError(
                    f"Surface.faces: indices run from {least} to {most}; "
                    f"expected 0 to {count - 1}, one less than the number of vertices"
                )
        if self.colours is not None:
            rows = count if self.colour_per == "vertex" else int(self.faces.shape[0])
            check_shape(f"Surface.colours (per {self.colour_per})", self.colours, (3,), (rows, 3), ("frames", rows, 3))
            if self.texture is not None:
                raise InputError("Surface: got both colours and a texture; give one of them")
        if isinstance(self.material, FaceMaterials) and len(self.material.index) != len(self.faces):
            raise InputError(
                f"FaceMaterials.index: got {len(self.material.index)} numbers for {len(self.faces)} faces; expected "
                "one each"
            )
        self._check_frames()

    @property
    def materials(self) -> tuple[Material, ...]:
        """All materials of the surface."""
        return self.material.materials if isinstance(self.material, FaceMaterials) else (self.material,)

    def _check_frames(self) -> None:
        """Raise InputError unless all changing parts have one number of frames."""
        counts = self._counts()
        frames = max(counts.values())
        if any(n not in (1, frames) for n in counts.values()):
            listed = ", ".join(f"{what} has {n} frames" for what, n in counts.items())
            raise InputError(f"{listed}; expected one number for all, or 1 for constant parts")

    def _counts(self) -> dict[str, int]:
        """Return the number of frames of each part that may change over time."""
        counts = {"Surface.vertices": int(self.vertices.shape[0])}
        if self.colours is not None and self.colours.dim() == 3:
            counts["Surface.colours"] = int(self.colours.shape[0])
        if self.texture is not None and self.texture.image.dim() == 4:
            counts["Texture.image"] = int(self.texture.image.shape[0])
        return counts

    def __len__(self) -> int:
        """Return the number of frames."""
        return max(self._counts().values())

    def _repr_html_(self) -> str:
        """Return counts and a drawing as HTML, for notebooks."""
        from diffloom.notebook import format_surface_html

        return format_surface_html(self)

    def replace_appearance(
        self,
        *,
        colours: Tensor | None = None,
        colour_per: Literal["vertex", "face"] = "vertex",
        texture: Texture | None = None,
        material: Material | FaceMaterials | None = None,
    ) -> Surface:
        """Return the moving mesh with another appearance.

        Args:
            colours: Colours, see ``Surface``.
            colour_per: "vertex" or "face".
            texture: Texture instead of colours.
            material: Material; the present one if None.

        Returns:
            Surface.
        """
        return replace(
            self, colours=colours, colour_per=colour_per, texture=texture, material=material or self.material
        )

    def frames(self, index: Tensor | list[int] | slice) -> Surface:
        """Return the surface at some frames; parts that do not change are kept, but vertices get a row for each frame.

        Args:
            index: Numbers of the frames, or a slice.

        Returns:
            Surface.
        """
        several = {what for what, n in self._counts().items() if n > 1}
        vertices = self.vertices if "Surface.vertices" in several else self.vertices.expand(len(self), -1, -1)
        colours, texture = self.colours, self.texture
        if colours is not None and "Surface.colours" in several:
            colours = colours[index]
        if texture is not None and "Texture.image" in several:
            texture = replace(texture, image=texture.image[index])
        return replace(self, vertices=vertices[index], colours=colours, texture=texture)


def vertex_colours(surface: Surface, otherwise: Tensor) -> Tensor:
    """Return colours (vertices, 3), or (frames, vertices, 3) if they change.

    Args:
        surface: Surface with colours per vertex or one for all.
        otherwise: Colour (3,) of surfaces without colours.

    Returns:
        Colours by vertex.
    """
    if surface.colours is not None and surface.colour_per == "face" and surface.colours.dim() > 1:
        raise InputError("colours are given per face; expected one colour for all or one per vertex")
    colours = otherwise if surface.colours is None else surface.colours
    return colours if colours.dim() == 3 else colours.expand(surface.vertices.shape[1], 3)


@dataclass(frozen=True)
class Stress:
    """Von Mises stress at the vertices of a surface.

    Args:
        values: (frames, vertices), not negative; NaN at vertices without stress, such as those of a rigid body.
        unit: "Pa", or "N/m" for a sheet of unknown thickness.
    """

    values: Tensor
    unit: str = "Pa"

    def __post_init__(self) -> None:
        if self.values.dim() != 2:
            raise InputError(f"Stress: values have shape {tuple(self.values.shape)}; expected (frames, vertices)")
        if self.unit not in UNITS:
            raise InputError(f"Stress: unit is {self.unit!r}; expected {' or '.join(map(repr, UNITS))}")


def join_stresses(parts: Sequence[Stress | None], counts: Sequence[int], frames: int) -> Stress | None:
    """Return the stress of several surfaces drawn as one.

    Args:
        parts: Stress of each part, None for parts without.
        counts: Number of vertices of each part.
        frames: Number of frames.

    Returns:
        Stress of the whole; None if no part has any. If units differ, pressures are kept and the rest is NaN.
    """
    given = {part.unit for part in parts if part is not None}
    if not given:
        return None
    unit = next(unit for unit in UNITS if unit in given)
    kept = [None if part is None or part.unit != unit else part.values for part in parts]
    like = next(values for values in kept if values is not None)
    rows = [
        like.new_full((frames, count), torch.nan) if values is None else values.expand(frames, -1)
        for values, count in zip(kept, counts, strict=True)
    ]
    return Stress(torch.cat(rows, dim=1), unit)
