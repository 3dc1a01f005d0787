"""Records of renderers with fused pipelines: colours and light of a surface, and the cotangents of a backward pass."""

from __future__ import annotations

from typing import Any, NamedTuple

from .records import Corners, EntryCells, Lights, Texels

__all__ = ["CornerSlots", "PointCotangents", "SurfaceLighting", "SurfaceShading", "Surfacing"]


class Surfacing(NamedTuple):
    """Colours of a surface, before it is lit.

    Args:
        textured: 1 if values are texture coordinates, 0 if they are colours.
        texels: The texture, see ``Texels``.
        rows: (faces, 3) rows of ``values`` at the corners.
        stride: Rows from a frame's values to the next one's, 0 where all frames share them.
        values: (rows, 3) colours, or u, v and a zero where the surface is textured.
    """

    textured: int
    texels: Texels
    rows: Any
    stride: int
    values: Any


class SurfaceLighting(NamedTuple):
    """Parameters of the light on a surface.

    Args:
        shading: 0 for unlit, 1 for lambert, 2 for phong.
        points: (points, 3) [m].
        normals: (points, 3), of any length.
        eye: (frames or 1, 3) [m].
        material: (faces,) number of each face's material, empty where there is one.
        lights: The lights, see ``Lights``.
    """

    shading: int
    points: Any
    normals: Any
    eye: Any
    material: Any
    lights: Lights


class SurfaceShading(NamedTuple):
    """Colours of a surface, the light on it, and the background.

    Args:
        surfacing: Colours of the surface.
        lighting: Light on the surface.
        background: (3,) rgb where nothing is drawn.
    """

    surfacing: Surfacing
    lighting: SurfaceLighting
    background: Any


class CornerSlots(NamedTuple):
    """Workspace for the cotangents that each entry of the tiles' lists passes to the corners of its triangle.

    Args:
        stripes: Rows of ``sums`` for each entry.
        corners: Corners that meet in each point.
        cells: Entries of each triangle.
        sums: (entries x stripes, parts, 9), three numbers for each corner. Parts: 0 places (x, y [px] and depth [m]),
            1 values, 2 normals, 3 positions.
        adj_corners: (triangles, 3, 3), sums over the entries of each triangle.
    """

    stripes: int
    corners: Corners
    cells: EntryCells
    sums: Any
    adj_corners: Any


class PointCotangents(NamedTuple):
    """Cotangents of points, (points, 3) each.

    Args:
        screen: Of places in the image (x, y [px] and depth [m]).
        world: Of points [m].
        seen: Of camera coordinates [m].
    """

    screen: Any
    world: Any
    seen: Any
