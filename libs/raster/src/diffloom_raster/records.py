"""Records that kernels are given. Arrays are numpy's on the CPU and tensors on a GPU (``Arena``).

Images that kernels work on are padded to whole tiles of ``TILE`` x ``TILE`` pixels. Triangles are numbered through all
frames; so are tiles, row by row within a frame. A box holds pixels (first column, first row, last column, last row),
both ends included; it is empty when the last column comes before the first.
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
    """rotation: (frames or 1, 3, 3), to (right, up, back). eye: (frames or 1, 3) [m]. focal, centre: (2,) [px]."""

    rotation: Any
    eye: Any
    focal: Any
    centre: Any


class Viewport(NamedTuple):
    """points: in a frame. near: least depth [m]. height, width: of an image [px]."""

    points: int
    near: float
    height: int
    width: int


class TileGrid(NamedTuple):
    """across, down: tiles of an image. height, width [px]. columns, rows: x and y of pixel centres, padded."""

    across: int
    down: int
    height: int
    width: int
    columns: Any
    rows: Any


class TriangleMesh(NamedTuple):
    """points: after how many faces repeat. faces: (faces, 3). frame_start: (frames + 1,), first triangle of a frame.

    sibling: (triangles,) the other half of a face cut at the near plane or -1; empty where nothing was cut. The edge
    from the last corner to the first lies between the halves.
    """

    points: int
    faces: Any
    frame_start: Any
    sibling: Any


class FrameSetup(NamedTuple):
    """All that is known before the first point is. bands: parts of a frame whose tiles are sorted at the same time."""

    viewport: Viewport
    grid: TileGrid
    mesh: TriangleMesh
    bands: int


class Corners(NamedTuple):
    """Which rows (points, colours, texture coordinates) the corners of faces use, and the other way round.

    faces: (faces, 3). start: (rows + 1,) and corner: (3 faces,): row i is used by corner[start[i]:start[i + 1]],
    numbered 3 x face + corner, in that order.
    """

    faces: Any
    start: Any
    corner: Any


class Bins(NamedTuple):
    """How the tiles' lists will lie. counts, start, active: per tile; start has one more, active lists tiles with
    entries. totals: (frames + 1, 3) entries, active tiles and cells before a frame; begins as zeros. first_cell:
    (triangles,); a cell is a pair of a triangle and a tile that its box touches."""

    counts: Any
    totals: Any
    start: Any
    active: Any
    first_cell: Any


class TileLists(NamedTuple):
    """start: (tiles + 1,) first entry of a tile. triangle, tile: of each entry. active: tiles that have entries."""

    start: Any
    triangle: Any
    tile: Any
    active: Any


class EntryCells(NamedTuple):
    """first: (triangles,) first cell of a triangle. entry: (cells,) the entry of a cell, counted from 1; 0 for none."""

    first: Any
    entry: Any


class Triangles(NamedTuple):
    """Triangles set up for rasterising.

    box: (triangles, 4) pixels within reach; inner: (triangles, 4) pixels that may lie inside. planes: (triangles, 9)
    three half planes a x + b y + c >= 0 that hold all pixels within reach. edges: (triangles, 17) and sides:
    (triangles, 9), see triangle_kernels.py.
    """

    box: Any
    inner: Any
    planes: Any
    edges: Any
    sides: Any


class Coverage(NamedTuple):
    """face_index: (frames, rows, columns) triangle at a pixel, -1 for none. visible: (triangles,) whether it is shown
    anywhere. open: (tiles,) whether a tile with entries has uncovered pixels."""

    face_index: Any
    visible: Any
    open: Any


class Falloff(NamedTuple):
    """Of a soft mask. sharpness: p = exp(-sharpness d^2). reach: how far a triangle counts. most: how many count."""

    sharpness: float
    reach: float
    most: int


class Mask(NamedTuple):
    """miss: (frames, rows, columns) prod (1 - p), the mask being 1 - miss. limit: the squared distance counted up to.
    touched: (entries x stripes,) rows of an entry's tile with pixels within reach, as bits."""

    miss: Any
    limit: Any
    touched: Any


class MaskAdjoint(NamedTuple):
    """pull: (frames, rows, columns) cotangent of miss times miss. slots: (entries x stripes, 6). corners: (triangles,
    3, 3). screen: (points, 3)."""

    adj_log_miss: Any
    slots: Any
    corners: Any
    screen: Any


class PixelLists(NamedTuple):
    """Covered pixels by triangle: those of triangle t are pixel[start[t]:start[t + 1]], in reading order."""

    start: Any
    pixel: Any


class Texels(NamedTuple):
    """corners, bilinear: 0 or 1. image: (rows, width, 3), the images of frames below one another. height: rows of one
    frame. stride: rows from a frame to the next, 0 where one image serves all."""

    corners: int
    bilinear: int
    height: int
    stride: int
    image: Any


class Lights(NamedTuple):
    """What lights a scene, the factors of each material multiplied in; as tensors these are differentiable.

    ambient: (materials, 3). kinds: (lights,) int32, POINT or DIRECTIONAL. table: (materials, lights, 9) position [m] or
    direction, diffuse rgb, specular rgb. harmonics: (materials, 9, 3) coefficients, or (materials, 0, 3) for none.
    shininess: (materials, 1).
    """

    ambient: Any
    kinds: Any
    table: Any
    harmonics: Any
    shininess: Any
