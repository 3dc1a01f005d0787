"""Records that kernels are given. Arrays are numpy's on the CPU and tensors on a GPU (``Arena``).

Images that kernels work on are padded to whole tiles of ``TILE`` x ``TILE`` pixels. Triangles and tiles are numbered
through all frames; tiles run row by row within a frame. A box holds pixels (first column, first row, last column, last
row), both ends included; it is empty when the last column comes before the first.
"""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = [
    "Bins",
    "Cameras",
    "Corners",
    "Coverage",
    "EntryCells",
    "Falloff",
    "FrameSetup",
    "Lights",
    "Mask",
    "MaskAdjoint",
    "PixelLists",
    "Texels",
    "TileGrid",
    "TileLists",
    "TriangleMesh",
    "Triangles",
    "Viewport",
]  # fmt: skip


class Cameras(NamedTuple):
    """Cameras of the frames.

    Args:
        rotation: (frames or 1, 3, 3), from the world to (right, up, back).
        eye: (frames or 1, 3) [m].
        focal: (2,) focal lengths in x and y [px].
        centre: (2,) principal point [px].
    """

    rotation: Any
    eye: Any
    focal: Any
    centre: Any


class Viewport(NamedTuple):
    """Sizes that projection needs.

    Args:
        points: Number of points in a frame.
        near: Least depth [m].
        height: Height of an image [px].
        width: Width of an image [px].
    """

    points: int
    near: float
    height: int
    width: int


class TileGrid(NamedTuple):
    """Tiles and pixel centres of an image.

    Args:
        across: Number of tiles in a row.
        down: Number of rows of tiles.
        height: Height of an image [px].
        width: Width of an image [px].
        columns: x of the pixel centres of each column, padded to whole tiles.
        rows: y of the pixel centres of each row, padded to whole tiles.
    """

    across: int
    down: int
    height: int
    width: int
    columns: Any
    rows: Any


class TriangleMesh(NamedTuple):
    """Triangles of all frames.

    Args:
        points: Number of points after which the faces repeat.
        faces: (faces, 3) rows of points.
        frame_start: (frames + 1,) first triangle of each frame.
        sibling: (triangles,) other half of a face cut at the near plane, or -1; empty where nothing was cut. The edge
            from the last corner to the first lies between the halves.
    """

    points: int
    faces: Any
    frame_start: Any
    sibling: Any


class FrameSetup(NamedTuple):
    """Sizes, tiles and triangles of the frames: all that does not depend on the points.

    Args:
        viewport: Sizes that projection needs.
        grid: Tiles and pixel centres.
        mesh: Triangles of all frames.
        bands: Number of parts of a frame whose tiles are sorted at the same time.
    """

    viewport: Viewport
    grid: TileGrid
    mesh: TriangleMesh
    bands: int


class Corners(NamedTuple):
    """Rows (points, colours, texture coordinates) at the corners of faces, and the corners that use each row.

    Args:
        faces: (faces, 3) row at each corner.
        start: (rows + 1,) first entry of each row in ``corner``.
        corner: (3 faces,) corners, numbered 3 x face + corner; row i is used by corner[start[i]:start[i + 1]].
    """

    faces: Any
    start: Any
    corner: Any


class Bins(NamedTuple):
    """Counts and positions of the tiles' lists.

    Args:
        counts: (tiles,) number of entries.
        totals: (frames + 1, 3) entries, active tiles and cells before each frame; zeros at first.
        start: (tiles + 1,) first entry of each tile.
        active: (tiles,) the tiles with entries, listed first.
        first_cell: (triangles,) first cell of each triangle. A cell is a pair of a triangle and a tile that its box
            touches.
    """

    counts: Any
    totals: Any
    start: Any
    active: Any
    first_cell: Any


class TileLists(NamedTuple):
    """Triangles of each tile.

    Args:
        start: (tiles + 1,) first entry of each tile.
        triangle: (entries,) triangle of each entry.
        tile: (entries,) tile of each entry.
        active: (tiles,) the tiles with entries, listed first.
    """

    start: Any
    triangle: Any
    tile: Any
    active: Any


class EntryCells(NamedTuple):
    """Entries of each triangle, found by its cells.

    Args:
        first: (triangles,) first cell of each triangle.
        entry: (cells,) entry of each cell, counted from 1; 0 for none.
    """

    first: Any
    entry: Any


class Triangles(NamedTuple):
    """Triangles set up for rasterising.

    Args:
        box: (triangles, 4) pixels within reach.
        inner: (triangles, 4) pixels that may lie inside.
        planes: (triangles, 9) three half planes a x + b y + c >= 0 that hold all pixels within reach.
        edges: (triangles, 17) edge functions, see triangle_kernels.py.
        sides: (triangles, 9) corners and inverse squared lengths, see triangle_kernels.py.
    """

    box: Any
    inner: Any
    planes: Any
    edges: Any
    sides: Any


class Coverage(NamedTuple):
    """Triangles that pixels show.

    Args:
        face_index: (frames, rows, columns) triangle at each pixel, -1 for none.
        visible: (triangles,) True if the triangle is shown at some pixel.
        open: (tiles,) True if the tile has entries and uncovered pixels.
    """

    face_index: Any
    visible: Any
    open: Any


class Falloff(NamedTuple):
    """Parameters of a soft mask.

    Args:
        sharpness: Factor s of p = exp(-s d^2) [1/px^2].
        reach: Distance up to which a triangle counts [px].
        most: Largest number of triangles that count at a pixel.
    """

    sharpness: float
    reach: float
    most: int


class Mask(NamedTuple):
    """Soft mask, 1 - miss.

    Args:
        miss: (frames, rows, columns) prod (1 - p).
        limit: (frames, rows, columns) squared distance up to which triangles count [px^2].
        touched: (entries x stripes,) rows of an entry's tile with pixels within reach, as bits.
    """

    miss: Any
    limit: Any
    touched: Any


class MaskAdjoint(NamedTuple):
    """Workspace and cotangents of a soft mask.

    Args:
        adj_log_miss: (frames, rows, columns) cotangent of log miss, that of miss times miss.
        slots: (entries x stripes, 6) cotangents of the corners' x and y from each stripe of an entry's tile.
        corners: (triangles, 3, 3) cotangents of the corners.
        screen: (points, 3) cotangents of the points.
    """

    adj_log_miss: Any
    slots: Any
    corners: Any
    screen: Any


class PixelLists(NamedTuple):
    """Covered pixels by triangle, in reading order.

    Args:
        start: (triangles + 1,) first entry of each triangle in ``pixel``.
        pixel: (covered pixels,) pixels; triangle t shows pixel[start[t]:start[t + 1]].
    """

    start: Any
    pixel: Any


class Texels(NamedTuple):
    """Texture as kernels read it.

    Args:
        corners: 1 if texture coordinates 0 and 1 are the centres of the outer texels, 0 if they are their outer edges.
        bilinear: 1 for bilinear filtering, 0 for the nearest texel.
        height: Rows of one frame's image.
        stride: Rows from a frame's image to the next, 0 where one image serves all frames.
        image: (rows, width, 3), the images of frames below one another.
    """

    corners: int
    bilinear: int
    height: int
    stride: int
    image: Any


class Lights(NamedTuple):
    """Lights of a scene, multiplied by the factors of each material. As tensors they are differentiable.

    Args:
        ambient: (materials, 3) ambient light.
        kinds: (lights,) int32, POINT or DIRECTIONAL.
        table: (materials, lights, 9) position [m] or direction, diffuse rgb, specular rgb.
        harmonics: (materials, 9, 3) coefficients of spherical harmonics, or (materials, 0, 3) for none.
        shininess: (materials, 1) exponent of highlights.
    """

    ambient: Any
    kinds: Any
    table: Any
    harmonics: Any
    shininess: Any
