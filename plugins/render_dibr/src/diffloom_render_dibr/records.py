"""What DIB-R's kernels are given, besides the records of the raster layer."""

from __future__ import annotations

from typing import Any, NamedTuple

from diffloom_raster.records import Cameras, EntryCells, Falloff, FrameSetup, Lights, Mask, Texels, TileLists


class Guard(NamedTuple):
    """Scale and guard of Kaolin's weights: see kaolin_kernels.py."""

    multiplier: float
    eps: float


class DibrRules(NamedTuple):
    """kaolin: whether to follow Kaolin, settled before compiling."""

    kaolin: bool
    guard: Guard


class DibrSetup(NamedTuple):
    """What is the same in every draw of a plan. cull: leave out triangles turned away. length: pixels of a chunk.
    lanes: elements of a run."""

    rules: DibrRules
    frames: FrameSetup
    falloff: Falloff
    cull: int
    length: int
    lanes: int


class DibrSource(NamedTuple):
    """Where points come from: the world through cameras (projects 1), or given in place.

    world: (points, 3) [m]. screen: (points, 3) x, y, depth, filled by drawing if it projects. valid: (triangles,)
    flags, or empty for all; what is not valid is nowhere, but by Kaolin's rules still takes part in the mask.
    """

    projects: int
    cameras: Cameras
    world: Any
    screen: Any
    valid: Any


class PixelCounts(NamedTuple):
    """frame, shown: (triangles,) whose frame it is and how many pixels show it. first, chunk: (triangles + 1,) where
    its pixels, filled up to runs, and its chunks begin."""

    frame: Any
    shown: Any
    first: Any
    chunk: Any


class Pixels(NamedTuple):
    """The covered pixels, triangle by triangle. owner: (chunks,) triangle. x, y: centres; spot: place in the frame."""

    counts: PixelCounts
    owner: Any
    x: Any
    y: Any
    spot: Any


class Features(NamedTuple):
    """What is interpolated. by_point: (points, n). own: ``rows`` rows of ``width`` numbers, the corners of faces using
    rows own_index; stride: rows from a frame's to the next frame's, 0 where all frames share them.

    The rows are one flat array: colours, texture coordinates and whatever else one has drawn then share their code.
    """

    by_point: Any
    own: Any
    rows: int
    width: int
    own_index: Any
    stride: int


class Values(NamedTuple):
    """Of covered pixels: weights (3, pixels) of the corners, value (channels, pixels), depth (1, pixels)."""

    weight: Any
    value: Any
    depth: Any


class DibrSurfacing(NamedTuple):
    """How values become colours. shades: 0 if they are colours already. shading: 0 unlit, 1 lambert, 2 phong.

    eye: (frames or 1, 3). frame: (pixels,) the frame of each pixel, empty where nothing asks for it. face_material:
    (faces,) numbers of their materials, and material: (pixels,) that of each pixel; both empty where there is one.
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
    """nearest, which: (frames, rows, columns), see cover in diffloom_raster.kernels. near: (entries, TILE). last:
    (frames, rows, columns) the last triangle that counted in Kaolin's mask."""

    nearest: Any
    which: Any
    near: Any
    last: Any


class Drawn(NamedTuple):
    """What rasterising left, and where the adjoint of the mask looks its entries up."""

    box: Any
    sides: Any
    lists: TileLists
    open: Any
    mask: Mask
    last: Any
    cells: EntryCells
    near_open: Any


class Shaded(NamedTuple):
    """What shading left."""

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
    """colour: (frames, pixels x channels), the mask last if soft; depth: (frames, pixels), or (0, pixels).

    channels: of colours. soft, deep: whether there are a mask and depths. ground: channels and far where nothing is.
    """

    channels: int
    soft: int
    deep: int
    ground: Any
    colour: Any
    depth: Any


class DibrWants(NamedTuple):
    """What passes cotangents: features (pixels do), shades, channels of colours, deep (depths), and the camera's
    frames; what costs extra: of the texture, of the eye through highlights, of the lights. stripes: of an entry's
    tile, 0 if the mask passes nothing."""

    features: int
    shades: int
    channels: int
    deep: int
    stripes: int
    texture: int
    eye: int
    table: int


class PixelsAdjoint(NamedTuple):
    """Cotangents of covered pixels: rgb and value (channels, pixels), depth (1, pixels); colour, eye (3, pixels) and
    table (runs, columns) as far as wanted."""

    rgb: Any
    value: Any
    depth: Any
    colour: Any
    eye: Any
    table: Any


class DibrSlots(NamedTuple):
    """What chunks and entries pass. mask: (entries x stripes, 6). place: (chunks, 3, 3). point: (chunks, 3, channels);
    own: the same, flat. pull: (frames, rows, columns)."""

    mask: Any
    place: Any
    point: Any
    own: Any
    adj_log_miss: Any


class DibrCotangents(NamedTuple):
    """corners: (triangles, 3, 3). screen, seen: (points, 3). by_point, own: as given. world: (points, 3). camera:
    (frames, 16)."""

    corners: Any
    screen: Any
    by_point: Any
    own: Any
    world: Any
    seen: Any
    camera: Any
