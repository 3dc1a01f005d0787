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

#: Units in which a stress is given, the one that is kept first where bodies of a world differ.
UNITS = ("Pa", "N/m")


@dataclass(frozen=True)
class Material:
    """How light is answered. Reflectances are factors without unit.

    shading: "unlit" shows the colour itself; "lambert" adds ambient and diffuse light; "phong" highlights too.
    ambient, diffuse, specular: () or (3,). shininess: exponent of the highlight, ().
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
    """Several materials on one surface: materials, and index (faces,) int64, which of them each face has.

    A renderer that draws them says so in ``Capabilities.materials``.
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
        """For code that knows of one material only: there is no one answer."""
        raise InputError(
            f"Surface.material: it has {len(self.materials)} materials, of different faces, and one was asked for; "
            "draw it with softras or dibr, or give all bodies the same material"
        )


@dataclass(frozen=True)
class Texture:
    """An image laid over the mesh.

    image: (height, width, 3), or (frames, height, width, 3) to change over time; values 0..1, row 0 on top.
    uv: (points, 2), u to the right, v up, both 0..1.
    uv_faces: (faces, 3) indices into uv, or None when uv has one row per vertex.
    filter: "bilinear" or "nearest". corners: True puts u = 0 and 1 on the centres of the border texels, False on
    their outer edges.
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
    """A triangle mesh whose vertices move.

    vertices: (frames, vertices, 3) [m], world. faces: (faces, 3) int64, counter-clockwise seen from outside.
    colours: None (mid grey), (3,) for all, (faces, 3) or (vertices, 3) rgb in 0..1; ``colour_per`` says which of the
    last two is meant. (frames, faces, 3) or (frames, vertices, 3) changes them over time. texture: instead of colours.
    Vertices, colours and images of a texture have the same number of frames, or 1 for what does not change.
    material: of all faces, or FaceMaterials.
    normals are computed by the renderer from the vertices.
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
        """All its materials."""
        return self.material.materials if isinstance(self.material, FaceMaterials) else (self.material,)

    def _check_frames(self) -> None:
        counts = self._counts()
        frames = max(counts.values())
        if any(n not in (1, frames) for n in counts.values()):
            said = ", ".join(f"{what} has {n} frames" for what, n in counts.items())
            raise InputError(f"{said}; expected the same number, or 1 for what does not change")

    def _counts(self) -> dict[str, int]:
        """Frames of everything that may change over time."""
        counts = {"Surface.vertices": int(self.vertices.shape[0])}
        if self.colours is not None and self.colours.dim() == 3:
            counts["Surface.colours"] = int(self.colours.shape[0])
        if self.texture is not None and self.texture.image.dim() == 4:
            counts["Texture.image"] = int(self.texture.image.shape[0])
        return counts

    def __len__(self) -> int:
        """How many frames there are, of whatever changes."""
        return max(self._counts().values())

    def _repr_html_(self) -> str:
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
        """The same moving mesh, coloured otherwise."""
        return replace(
            self, colours=colours, colour_per=colour_per, texture=texture, material=material or self.material
        )

    def frames(self, index: Tensor | list[int] | slice) -> Surface:
        """Only some frames. What does not change stays as it is, but for vertices: they have a row for each frame."""
        several = {what for what, n in self._counts().items() if n > 1}
        vertices = self.vertices if "Surface.vertices" in several else self.vertices.expand(len(self), -1, -1)
        colours, texture = self.colours, self.texture
        if colours is not None and "Surface.colours" in several:
            colours = colours[index]
        if texture is not None and "Texture.image" in several:
            texture = replace(texture, image=texture.image[index])
        return replace(self, vertices=vertices[index], colours=colours, texture=texture)


def vertex_colours(surface: Surface, otherwise: Tensor) -> Tensor:
    """Colours as (vertices, 3), or (frames, vertices, 3) where they change; ``otherwise`` (3,) stands in for none."""
    if surface.colours is not None and surface.colour_per == "face" and surface.colours.dim() > 1:
        raise InputError("colours are given per face; expected one colour for all or one per vertex")
    colours = otherwise if surface.colours is None else surface.colours
    return colours if colours.dim() == 3 else colours.expand(surface.vertices.shape[1], 3)


@dataclass(frozen=True)
class Stress:
    """Stress at the vertices of a surface, as one number each: von Mises's.

    values: (frames, vertices), not below 0; NaN at vertices of what has none, such as a rigid body of a world. unit:
    "Pa", or "N/m" for a sheet whose thickness is not known.
    """

    values: Tensor
    unit: str = "Pa"

    def __post_init__(self) -> None:
        if self.values.dim() != 2:
            raise InputError(f"Stress: values have shape {tuple(self.values.shape)}; expected (frames, vertices)")
        if self.unit not in UNITS:
            raise InputError(f"Stress: unit is {self.unit!r}; expected {' or '.join(map(repr, UNITS))}")


def join_stresses(parts: Sequence[Stress | None], counts: Sequence[int], frames: int) -> Stress | None:
    """The stress of surfaces that are drawn as one; None where no part has any.

    counts: vertices of each part. Stresses of two units cannot be compared: pressures are kept, and the others are NaN.
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
