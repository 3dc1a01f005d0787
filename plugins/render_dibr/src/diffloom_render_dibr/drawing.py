"""Drawing: the runs of the program in order, and the arrays they leave behind."""

from __future__ import annotations

from typing import Any, NamedTuple

from torch import Tensor

from diffloom_kernels import array_of, kept_numbers
from diffloom_raster import BehindNearError
from diffloom_raster.bin_kernels import TILE
from diffloom_raster.rasterise import new_coverage, new_triangles
from diffloom_raster.records import Corners, Coverage, Mask, TileLists, Triangles

from .plan import Plan
from .records import Features, PixelCounts, Pixels, Planes, Scratch, Shaded, Source, Surfacing, Values


class Rasterised(NamedTuple):
    """What pixels show, and what of it the adjoint needs; first_cell and cells: see raster.records.Bins."""

    triangles: Triangles
    lists: TileLists
    coverage: Coverage
    mask: Mask
    last: Any
    counts: PixelCounts
    first_cell: Any
    cells: int


def rasterise(plan: Plan, source: Source, covered: Any = None) -> Rasterised:
    """Find what pixels show and the soft mask; raises BehindNearError.

    covered: (frames, padded height, padded width) flags where something is known to be shown, then only the mask is
    found.
    """
    arena, layout, kaolin, n = plan.arena, plan.layout, plan.settings.kaolin, plan.layout.triangles
    triangles, bins, frame = new_triangles(layout, ready=not kaolin), layout.bins(), arena.ints(n)
    plan.run("prepare", plan.setup, source, triangles, frame, bins)
    if source.projects and not (kaolin or layout.cut) and bool(source.screen[:, 2].min() < layout.near):
        raise BehindNearError
    lists, _, cells = layout.lists(bins)
    entries, soft = int(lists.triangle.shape[0]), int(plan.settings.soft)
    coverage = new_coverage(layout)
    none, full = (0, 0, 0), layout.padded
    mask = Mask(
        arena.floats(*(full if soft else none)), arena.floats(*(none if kaolin or not soft else full)),
        arena.ints(0 if kaolin or not soft else entries * layout.stripes),
    )  # fmt: skip
    scratch = Scratch(
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
    return Rasterised(triangles, lists, coverage, mask, scratch.last, counts, bins.first_cell, cells)


def shade(
    plan: Plan, source: Source, drawn: Rasterised, features: Features, surfacing: Surfacing,
    background: tuple[float, ...], far: float | None, by_frame: bool = False,
) -> tuple[Shaded, Planes]:  # fmt: skip
    """Planes of channels and mask, background where nothing is shown; depths, unless far is None.

    by_frame: whether shading asks for the frame of a pixel: for the eye of a moving camera, or for the texture's image.
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
    ground = kept_numbers(arena, (*background, *(0.0,) * (channels - len(background)), far or 0.0))
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
    return Shaded(pixels, features, values, surfacing), planes


def features_of(by_point: Any, own: Any, corners: Corners, stride: int = 0) -> Features:
    """What is interpolated: rows of points, and rows of their own that corners name; stride: see ``Features``."""
    rows, width = (int(n) for n in own.shape)
    return Features(by_point, own.reshape(-1), rows, width, corners.faces, stride)


def cropped(plan: Plan, planes: Any) -> Tensor:
    """(frames, padded pixels x channels) -> (frames, height, width, channels), sharing memory."""
    _, height, width = plan.layout.padded
    frames, size = planes.shape
    tensor = plan.arena.tensor(planes.reshape(frames, height, width, size // (height * width)))
    return tensor if plan.layout.whole else tensor[:, : plan.layout.height, : plan.layout.width]


def padded(plan: Plan, planes: Tensor | None) -> Any:
    """(frames, height, width, channels) -> (frames, pixels padded with 0 x channels), as an array; None stays."""
    if planes is None:
        return None
    frames, height, width = plan.layout.padded
    if planes.shape[1:3] == (height, width):
        return array_of(planes).reshape(frames, -1)
    full = plan.arena.floats(frames, height, width, int(planes.shape[3]), fill=0.0)
    full[:, : plan.layout.height, : plan.layout.width] = array_of(planes)
    return full.reshape(frames, -1)
