"""Records that DIB-R's kernels are given, besides those of the raster layer."""

from __future__ import annotations

from typing import Any, NamedTuple

from diffloom_raster.records import Cameras, EntryCells, Falloff, FrameSetup, Lights, Mask, Texels, TileLists


class Guard(NamedTuple):
    """Scale and guard of Kaolin's weights: see kaolin_kernels.py."""

    multiplier: float
    eps: float


class DibrRules(NamedTuple):
    """Rules of rasterising; kaolin: follow Kaolin, a compile-time constant."""

    kaolin: bool
    guard: Guard


class DibrSetup(NamedTuple):
    """Parameters that are constant in every draw of a plan.

    cull: leave out triangles turned away. length: pixels of a chunk. lanes: elements of a run.
    """

    rules: DibrRules
    frames: FrameSetup
    falloff: Falloff
    cull: int
    length: int
    lanes: int


class DibrSource(NamedTuple):
    """Source of points: the world through cameras (projects 1), or positions on the screen (projects 0).

    world: (points, 3) [m]. screen: (points, 3) x, y, depth, filled by drawing if it projects. valid: (triangles,)
    flags, or empty for all. Triangles that are not valid are not drawn, but by Kaolin's rules they take part in the
    mask.
    """

    projects: int
    cameras: Cameras
    world: Any
    screen: Any
    valid: Any


class PixelCounts(NamedTuple):
    """Numbers of pixels by triangle.

    frame, shown: (triangles,) frame of each triangle and number of pixels that show it. first, chunk: (triangles + 1,)
    first pixel, filled up to runs, and first chunk of each triangle.
    """

    frame: Any
    shown: Any
    first: Any
    chunk: Any


class Pixels(NamedTuple):
    """Covered pixels, triangle by triangle.

    owner: (chunks,) triangle. x, y: centres; spot: position in the frame.
    """

    counts: PixelCounts
    owner: Any
    x: Any
    y: Any
    spot: Any


class Features(NamedTuple):
    """Features that are interpolated.

    by_point: (points, n). own: ``rows`` rows of ``width`` numbers, the corners of faces using rows own_index; stride:
    rows from a frame's to the next frame's, 0 where all frames share them.

    The rows are one flat array, so that colours, texture coordinates and any other features share their code.
    """

    by_point: Any
    own: Any
    rows: int
    width: int
    own_index: Any
    stride: int


class Values(NamedTuple):
    """Values at covered pixels: weights (3, pixels) of the corners, value (channels, pixels), depth (1, pixels)."""

    weight: Any
    value: Any
    depth: Any


class DibrSurfacing(NamedTuple):
    """Rules that turn values into colours.

    shades: 0 if values are colours already. shading: 0 unlit, 1 lambert, 2 phong. eye: (frames or 1, 3). frame:
    (pixels,) frame of each pixel, empty where it is not needed. face_material: (faces,) numbers of their materials, and
    material: (pixels,) that of each pixel; both empty where there is one.
    """

    shades: int
    shading: int
    textured: int
    texels: Texels
    eye: Any
    frame: Any
    face_material: Any
    material: Any
    lights: Lights


class DibrScratch(NamedTuple):
    """Workspace of rasterising.

    nearest, which: (frames, rows, columns), see cover in diffloom_raster.kernels. near: (entries, TILE). last: (frames,
    rows, columns) the last triangle that counted in Kaolin's mask.
    """

    nearest: Any
    which: Any
    near: Any
    last: Any


class MaskRecord(NamedTuple):
    """Results of rasterising that the adjoint of the mask reads, and the cells by which it finds entries."""

    box: Any
    sides: Any
    lists: TileLists
    open: Any
    mask: Mask
    last: Any
    cells: EntryCells
    near_open: Any


class ShadingRecord(NamedTuple):
    """Results of shading that the adjoint reads."""

    pixels: Pixels
    features: Features
    values: Values
    surfacing: DibrSurfacing


class PlanesAdjoint(NamedTuple):
    """Cotangents of the planes, of ``stride`` channels, and of the depths."""

    stride: int
    colour: Any
    depth: Any


class Planes(NamedTuple):
    """Images that are drawn.

    colour: (frames, pixels x channels), the mask last if soft; depth: (frames, pixels), or (0, pixels). channels: of
    colours. soft, deep: 1 if there are a mask and depths. ground: channels, and far, where nothing is shown.
    """

    channels: int
    soft: int
    deep: int
    ground: Any
    colour: Any
    depth: Any


class DibrWants(NamedTuple):
    """Flags of the cotangents that are wanted.

    features: pixels pass cotangents. shades; channels of colours; deep: depths pass them. texture, eye (through
    highlights), table (lights): extra cotangents. stripes: of an entry's tile, 0 if the mask passes none.
    """

    features: int
    shades: int
    channels: int
    deep: int
    stripes: int
    texture: int
    eye: int
    table: int


class PixelsAdjoint(NamedTuple):
    """Cotangents of covered pixels.

    rgb and value (channels, pixels), depth (1, pixels); colour, eye (3, pixels) and table (runs, columns) as far as
    wanted.
    """

    rgb: Any
    value: Any
    depth: Any
    colour: Any
    eye: Any
    table: Any


class DibrSlots(NamedTuple):
    """Cotangents by chunks and entries.

    mask: (entries x stripes, 6). place: (chunks, 3, 3). point: (chunks, 3, channels); own: the same, flat.
    adj_log_miss: (frames, rows, columns).
    """

    mask: Any
    place: Any
    point: Any
    own: Any
    adj_log_miss: Any


class DibrCotangents(NamedTuple):
    """Cotangents of points, features and cameras.

    corners: (triangles, 3, 3). screen, seen: (points, 3). by_point, own: in the shapes of Features. world: (points, 3).
    camera: (frames, 16).
    """

    corners: Any
    screen: Any
    by_point: Any
    own: Any
    world: Any
    seen: Any
    camera: Any
