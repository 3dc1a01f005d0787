"""Drawing and its adjoint: the plan, the runs of the program in order, and the arrays they leave."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, NamedTuple

from torch import Tensor

from diffloom_kernels import Arena, BoundRecord, as_array, cache_numbers
from diffloom_raster import (
    BehindNearError,
    ImageLayout,
    allocate_coverage,
    allocate_triangles,
    count_light_columns,
    count_texture_copies,
)
from diffloom_raster.kernels import TILE
from diffloom_raster.records import Corners, Coverage, EntryCells, Falloff, Mask, TileLists, Triangles

from .pipeline_kernels import PROGRAMS
from .records import (
    DibrCotangents,
    DibrRules,
    DibrScratch,
    DibrSetup,
    DibrSlots,
    DibrSource,
    DibrSurfacing,
    DibrWants,
    Features,
    Guard,
    MaskRecord,
    PixelCounts,
    Pixels,
    PixelsAdjoint,
    Planes,
    PlanesAdjoint,
    ShadingRecord,
    Values,
)

#: Largest number of pixels of a triangle in one work item of interpolation and its adjoint, by device.
CHUNK = {"cpu": 1024, "cuda": 32}


class Settings(NamedTuple):
    """Settings of rasterising.

    kaolin: by Kaolin's rules on its plane [-1, 1]^2, else by ours on pixels. soft: the soft mask is wanted. sharpness,
    reach: of the mask, in units of that plane or of pixels. most: number of triangles that count in it. cull: leave out
    triangles seen from behind (ours only). multiplier, eps: see kaolin_kernels.py.
    """

    kaolin: bool
    soft: bool
    sharpness: float
    reach: float
    most: int
    cull: bool = False
    multiplier: float = 1000.0
    eps: float = 1e-8


@dataclass(frozen=True, eq=False)
class DibrPlan:
    """Parameters of a draw that do not depend on the scene; setup: constant arguments of kernels."""

    layout: ImageLayout
    settings: Settings
    setup: BoundRecord

    @property
    def arena(self) -> Arena:
        """Precision and device of arrays."""
        return self.layout.arena

    def run(self, pipeline: str, *args: Any) -> None:
        """Run a pipeline, on threads if the whole image is worth it."""
        self.layout.run(PROGRAMS[self.settings.kaolin], pipeline, *args)


def find_plan(layout: ImageLayout, settings: Settings) -> DibrPlan:
    """Return the plan of a layout; kept for layouts that are kept."""
    return _make_plan(layout, settings) if layout.cut else _kept_plan(layout, settings)


def _make_plan(layout: ImageLayout, settings: Settings) -> DibrPlan:
    falloff = Falloff(settings.sharpness, settings.reach if settings.soft else 0.0, settings.most)
    rules = DibrRules(settings.kaolin, Guard(settings.multiplier, settings.eps))
    length = CHUNK["cuda" if layout.on_cuda else "cpu"]
    return DibrPlan(
        layout,
        settings,
        BoundRecord(DibrSetup(rules, layout.bound.record, falloff, int(settings.cull), length, layout.lanes)),
    )


_kept_plan = functools.lru_cache(maxsize=32)(_make_plan)


class RasterRecord(NamedTuple):
    """Results of rasterising, for shading and the adjoint; first_cell and cells: see diffloom_raster.records.Bins."""

    triangles: Triangles
    lists: TileLists
    coverage: Coverage
    mask: Mask
    last: Any
    counts: PixelCounts
    first_cell: Any
    cells: int


def rasterise(plan: DibrPlan, source: DibrSource, covered: Any = None) -> RasterRecord:
    """Find the triangle that each pixel shows, and the soft mask; raise BehindNearError.

    covered: (frames, padded height, padded width) flags of pixels known to show a triangle; only the mask is found
    then.
    """
    arena, layout, kaolin, n = plan.arena, plan.layout, plan.settings.kaolin, plan.layout.triangles
    triangles, bins, frame = allocate_triangles(layout, ready=not kaolin), layout.bins(), arena.ints(n)
    plan.run("prepare", plan.setup, source, triangles, frame, bins)
    if source.projects and not (kaolin or layout.cut) and bool(source.screen[:, 2].min() < layout.near):
        raise BehindNearError
    lists, _, cells = layout.lists(bins)
    entries, soft = int(lists.triangle.shape[0]), int(plan.settings.soft)
    coverage = allocate_coverage(layout)
    none, full = (0, 0, 0), layout.padded
    mask = Mask(
        arena.floats(*(full if soft else none)), arena.floats(*(none if kaolin or not soft else full)),
        arena.ints(0 if kaolin or not soft else entries * layout.stripes),
    )  # fmt: skip
    scratch = DibrScratch(
        arena.floats(*full), arena.floats(*full), arena.floats(entries, TILE),
        arena.ints(*(full if kaolin and soft else none)),
    )  # fmt: skip
    if covered is not None:
        scratch.which[...] = -1.0
        scratch.which[covered] = 0.0
        coverage.face_index[...] = -1
        coverage.face_index[covered] = n  # none of them
        coverage.open[...] = True
    counts = PixelCounts(frame, arena.ints(n), arena.ints(n + 1, fill=0), arena.ints(n + 1, fill=0))
    plan.run(
        "rasterise", int(covered is None), soft, plan.setup, source.screen, source.valid, triangles, bins.counts, lists,
        scratch, coverage, mask, counts,
    )  # fmt: skip
    return RasterRecord(triangles, lists, coverage, mask, scratch.last, counts, bins.first_cell, cells)


def shade(
    plan: DibrPlan, source: DibrSource, drawn: RasterRecord, features: Features, surfacing: DibrSurfacing,
    background: tuple[float, ...], far: float | None, by_frame: bool = False,
) -> tuple[ShadingRecord, Planes]:  # fmt: skip
    """Return planes of channels and mask, background where nothing is shown; and depths, unless far is None.

    by_frame: shading needs the frame of a pixel, for the eye of a moving camera or for the texture's image.
    """
    arena, counts, soft = plan.arena, drawn.counts, int(plan.settings.soft)
    covered, chunks = int(counts.first[-1]), int(counts.chunk[-1])
    width = int(features.by_point.shape[1]) + features.width
    channels = 3 if surfacing.shades else width
    centres = arena.floats(2, covered)
    pixels = Pixels(counts, arena.ints(chunks), centres[0], centres[1], arena.ints(covered))
    values = Values(arena.floats(3, covered), arena.floats(width, covered), arena.floats(1, covered))
    rgb = arena.floats(3, covered) if surfacing.shades else values.value
    frames, size = plan.layout.frames, plan.layout.padded[1] * plan.layout.padded[2]
    ground = cache_numbers(arena, (*background, *(0.0,) * (channels - len(background)), far or 0.0))
    deep = int(far is not None)
    colour, depth = arena.floats(frames, size * (channels + soft)), arena.floats(frames if deep else 0, size)
    planes = Planes(channels, soft, deep, ground, colour, depth)
    if by_frame:
        surfacing = surfacing._replace(frame=arena.ints(covered))
    if surfacing.face_material.shape[0]:
        surfacing = surfacing._replace(material=arena.ints(covered))
    plan.run(
        "shade", plan.setup, source.screen, drawn.triangles.inner, drawn.triangles.edges, drawn.coverage.face_index,
        pixels, features, values, surfacing, rgb, drawn.mask.miss, planes,
    )  # fmt: skip
    return ShadingRecord(pixels, features, values, surfacing), planes


def collect_features(by_point: Any, own: Any, corners: Corners, stride: int = 0) -> Features:
    """Return features: rows of points, and rows that corners name; stride: see ``Features``."""
    rows, width = (int(n) for n in own.shape)
    return Features(by_point, own.reshape(-1), rows, width, corners.faces, stride)


def crop(plan: DibrPlan, planes: Any) -> Tensor:
    """Return (frames, padded pixels x channels) as (frames, height, width, channels), sharing memory."""
    _, height, width = plan.layout.padded
    frames, size = planes.shape
    tensor = plan.arena.tensor(planes.reshape(frames, height, width, size // (height * width)))
    return tensor if plan.layout.whole else tensor[:, : plan.layout.height, : plan.layout.width]


def pad(plan: DibrPlan, planes: Tensor | None) -> Any:
    """Return (frames, height, width, channels) as an array (frames, pixels padded with 0 x channels); None stays."""
    if planes is None:
        return None
    frames, height, width = plan.layout.padded
    if planes.shape[1:3] == (height, width):
        return as_array(planes).reshape(frames, -1)
    full = plan.arena.floats(frames, height, width, int(planes.shape[3]), fill=0.0)
    full[:, : plan.layout.height, : plan.layout.width] = as_array(planes)
    return full.reshape(frames, -1)


class Extras(NamedTuple):
    """Flags of extra cotangents: of the camera, of the eye through highlights, of lights, of the texture."""

    camera: bool = False
    eye: bool = False
    lights: bool = False
    texture: bool = False


class DrawAdjoint(NamedTuple):
    """Cotangents of a draw; and, if wanted: lights (columns,), eye (frames, 3), image."""

    cotangents: DibrCotangents
    lights: Any = None
    eye: Any = None
    image: Any = None


def draw_adjoint(
    plan: DibrPlan, source: DibrSource, drawn: RasterRecord, shaded: ShadingRecord, own_corners: Corners,
    extras: Extras, adj_planes: Any, adj_depths: Any, soft: bool,
) -> DrawAdjoint:  # fmt: skip
    """Return cotangents from those of the planes (frames, pixels x channels) and of the depths; either may be None.

    soft: the last of the planes is the mask, and passes cotangents.
    """
    arena, layout, surfacing, features = plan.arena, plan.layout, shaded.surfacing, shaded.features
    size = layout.padded[1] * layout.padded[2]
    stride = 0 if adj_planes is None else int(adj_planes.shape[1]) // size
    coloured = stride > int(soft)
    active, width = coloured or adj_depths is not None, int(features.by_point.shape[1]) + features.width
    covered, chunks = (int(a.shape[0]) if active else 0 for a in (shaded.pixels.x, shaded.pixels.owner))
    channels, stripes = 3 if surfacing.shades else width, (1 if plan.settings.kaolin else layout.stripes) * int(soft)
    wants = DibrWants(
        int(active), int(active and coloured) * surfacing.shades, channels if coloured else 0,
        int(adj_depths is not None), stripes, int(extras.texture), int(extras.eye), int(extras.lights),
    )  # fmt: skip
    fill = None if coloured else 0.0
    rgb = arena.floats(channels, covered, fill=fill)
    adjoint = PixelsAdjoint(
        rgb, arena.floats(width, covered, fill=fill) if surfacing.shades else rgb,
        arena.floats(1, covered if wants.deep else 0), arena.floats(3, covered if extras.texture else 0),
        arena.floats(3, covered if extras.eye else 0),
        arena.floats(covered // layout.lanes if extras.lights else 0, count_light_columns(surfacing.lights), fill=0.0),
    )  # fmt: skip
    entries = int(drawn.lists.triangle.shape[0]) if soft else 0
    slots = DibrSlots(
        arena.floats(entries * stripes, 6), arena.floats(chunks, 3, 3),
        arena.floats(chunks, 3, features.by_point.shape[1]), arena.floats(3 * chunks * features.width),
        arena.floats(*(layout.padded if soft else (0, 0, 0))),
    )  # fmt: skip
    places, world = int(source.screen.shape[0]), int(source.world.shape[0])
    found = DibrCotangents(
        arena.floats(layout.triangles, 3, 3), arena.floats(places, 3), arena.floats(*features.by_point.shape),
        arena.floats(features.rows * features.width), arena.floats(world, 3, fill=0.0), arena.floats(world, 3),
        arena.floats(layout.frames if extras.camera else 0, 16),
    )  # fmt: skip
    cells = EntryCells(drawn.first_cell, arena.ints(drawn.cells if soft else 0, fill=0))
    near_open = arena.flags(layout.triangles if soft else 0, fill=False)
    none = arena.floats(0, 0)
    plan.run(
        "draw_adjoint", plan.setup, wants, source,
        MaskRecord(
            drawn.triangles.box, drawn.triangles.sides, drawn.lists, drawn.coverage.open, drawn.mask, drawn.last, cells,
            near_open,
        ), shaded,
        PlanesAdjoint(stride, none if adj_planes is None else adj_planes, none if adj_depths is None else adj_depths),
        adjoint, slots, layout.corners, own_corners, found,
    )  # fmt: skip
    return DrawAdjoint(found, **_sum_extras(plan, shaded, extras, adjoint) if active else {})


def _sum_extras(plan: DibrPlan, shaded: ShadingRecord, extras: Extras, adjoint: PixelsAdjoint) -> dict[str, Any]:
    """Return cotangents of lights, eye and image, as far as wanted, from the sums over runs and pixels."""
    arena, frames, found = plan.arena, plan.layout.frames, {}
    if extras.lights or extras.eye:
        lights, eye = arena.floats(int(adjoint.table.shape[1])), arena.floats(frames, 3)
        first = shaded.pixels.counts.first
        plan.run(
            "sum_lights", frames if extras.eye else 0, plan.layout.frame_start, first, adjoint.table, adjoint.eye,
            lights, eye,
        )  # fmt: skip
        found = {"lights": lights if extras.lights else None, "eye": eye if extras.eye else None}
    if extras.texture:
        texels, value, d = shaded.surfacing.texels, shaded.values.value, 6 if shaded.surfacing.shading else 0
        copies = arena.floats(count_texture_copies(texels.image), *texels.image.shape)
        plan.run("sample_image_adjoint", texels, value[d], value[d + 1], shaded.surfacing.frame, adjoint.colour, copies)
        found["image"] = copies[0]
    return found
