"""Records of the coverage kernels, besides those of the raster layer."""

from __future__ import annotations

from typing import Any, NamedTuple

from diffloom_raster.records import Cameras, FrameSetup, TileLists


class Rules(NamedTuple):
    """Thresholds of geometry, by precision.

    smallest: twice the area [px^2] up to which a triangle is left out. least: area [px^2] up to which a piece is left
    out. touch: distance [px] up to which a corner lies on an edge. equal: relative difference up to which two inverse
    depths are equal.
    """

    smallest: float
    least: float
    touch: float
    equal: float


class EdgeNeighbours(NamedTuple):
    """Topology of the faces. neighbour: (faces, 3), the face beyond each edge, -1 for none. side: (faces,) 1 for faces
    that are drawn from their front alone, 0 for both sides."""

    neighbour: Any
    side: Any


class Setup(NamedTuple):
    """Values that are the same in every draw of a plan. far: depth where nothing is shown [m]. stripes: slots of an
    entry, and work items that share a tile in the passes over pieces."""

    frames: FrameSetup
    rules: Rules
    edges: EdgeNeighbours
    far: float
    stripes: int


class Outlines(NamedTuple):
    """Triangles set up. box: (triangles, 4). planes: (triangles, 9). outline: (triangles, OUTLINE) and torn:
    (triangles,), see triangle_kernels.py."""

    box: Any
    planes: Any
    outline: Any
    torn: Any


class ProjectedPoints(NamedTuple):
    """Points to draw: cameras, points (points, 3) [m] and their places screen (points, 3): x, y [px] and depth [m]."""

    cameras: Cameras
    points: Any
    screen: Any


class Pieces(NamedTuple):
    """Scratch memory of each worker: SLOTS polygons of at most CORNERS corners, see piece_kernels.py.

    x, y: (workers x SLOTS, CORNERS) places from the pixel's centre [px]. tag: the edge that runs from a corner to the
    next, 3 x entry + edge, -2 - entry for the line where the triangles of that entry and of ``partner`` intersect, or
    -1. value: of a linear function at the corners. count, owner: (workers x SLOTS,) corners, and the entry that owns
    the piece, -1 for the background.
    """

    x: Any
    y: Any
    tag: Any
    partner: Any
    value: Any
    count: Any
    owner: Any


class Limit(NamedTuple):
    """depth: (frames, rows, columns). Triangles whose nearest corner lies before it are shown in the pixel whole;
    MIXED where pieces must be cut out instead, see run_kernels.py. ends: (entries,) true if a slab ends after it."""

    depth: Any
    ends: Any


class Images(NamedTuple):
    """planes: (frames, 4, rows, columns) rgb and alpha; depth: (frames, rows, columns)."""

    planes: Any
    depth: Any


class Wants(NamedTuple):
    """colour, deep: whether colours and depths are made; inner: whether one of them is. table: whether lights have
    cotangents."""

    colour: int
    deep: int
    inner: int
    table: int


class ImagesAdjoint(NamedTuple):
    """planes, depth: cotangents of the images. table: (entries x stripes, columns), see light_table_adjoint."""

    planes: Any
    depth: Any
    table: Any


class SceneRecord(NamedTuple):
    """A drawing as its passes take it: triangles, the tiles' lists, and how pixels are made."""

    source: ProjectedPoints
    triangles: Outlines
    lists: TileLists
    limit: Limit
