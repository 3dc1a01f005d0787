"""Records that the soft rasterizer's kernels are given, besides those of the raster layer.

``e`` is a run of neighbouring pixels of one row, one pixel on CUDA. Adjoints work on stripes of a tile's columns, ``e``
counting TILE columns for each entry, and leave their sums in slots.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from diffloom_raster.records import Cameras, FrameSetup, TileLists


class SoftRules(NamedTuple):
    """Rules for setting up triangles.

    cull: leave out faces turned away. perspective: weigh corners in space. reach: distance up to which a face acts
    outside its outline [px]. least_area: twice the area [px^2] under which a triangle is left out.
    """

    cull: int
    perspective: int
    reach: float
    least_area: float


class Blur(NamedTuple):
    """Falloff of a face's probability around its outline.

    sharpness: 1 / sigma [1/px^2]. reach_squared [px^2]. most: number of faces that count at a pixel, 0 for all. full: 1
    / (1 - alpha) from which alpha is 1 to the last bit.
    """

    sharpness: float
    reach_squared: float
    most: int
    full: float


class Fade(NamedTuple):
    """Falloff of a face's weight with depth.

    sharp: 1 / (gamma span) [1/m]. cut: log of the weight under which a face is skipped. far [m]; span: far - near [m];
    gamma: see blend_kernels.py.
    """

    sharp: float
    cut: float
    far: float
    span: float
    gamma: float


class SoftTriangles(NamedTuple):
    """Triangles set up for soft rasterising.

    outline: (triangles, 16), see fragment_kernels.py. box: (triangles, 4). planes: (triangles, 9). swapped:
    (triangles,) True if corners 0 and 2 changed places.
    """

    outline: Any
    box: Any
    planes: Any
    swapped: Any


class SoftLimit(NamedTuple):
    """Depth of the last of the faces that count at a pixel, (frames, height, width): see coverage_kernels.py."""

    depth: Any


class SoftCoverage(NamedTuple):
    """Results of the coverage pass: clear, nearest, front, hits, each (frames, height, width); see
    coverage_kernels.py.
    """

    clear: Any
    nearest: Any
    front: Any
    hits: Any


class SoftImages(NamedTuple):
    """Images that are drawn.

    planes: (frames, 4, height, width) rgb and alpha; depth and weight: (frames, height, width).
    """

    planes: Any
    depth: Any
    weight: Any


class SoftSetup(NamedTuple):
    """Parameters that are constant in every draw of a plan."""

    frames: FrameSetup
    rules: SoftRules
    blur: Blur
    fade: Fade


class Fragments(NamedTuple):
    """Triangles in the lists of tiles, and the depths up to which they count: the source of fragments."""

    triangles: SoftTriangles
    lists: TileLists
    limit: SoftLimit


class SoftSource(NamedTuple):
    """Source of points: the world (points, 3) [m], seen through cameras."""

    cameras: Cameras
    points: Any


class SoftWants(NamedTuple):
    """Flags of the results that are wanted.

    colour: colours are made. limited: some pixel has more faces than count. table: lights of the scene need cotangents.
    """

    colour: int
    limited: int
    table: int


class SoftImagesAdjoint(NamedTuple):
    """Cotangents of the images.

    planes, depth: as in Images. table: (entries x stripes, columns), see light_table_adjoint.
    """

    planes: Any
    depth: Any
    table: Any
