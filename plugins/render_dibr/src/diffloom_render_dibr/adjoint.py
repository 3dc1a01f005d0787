"""The adjoint of drawing: from the cotangents of planes to those of all that made them."""

from __future__ import annotations

from typing import Any, NamedTuple

from diffloom_raster.light import table_columns
from diffloom_raster.records import Cells, Corners
from diffloom_raster.texture import texture_copies

from .drawing import Rasterised
from .plan import Plan
from .records import Cotangents, Drawn, PixelsAdjoint, PlanesAdjoint, Shaded, Slots, Source, Wants


class Extras(NamedTuple):
    """Cotangents that cost extra: of the camera, of the eye through highlights, of lights, of the texture."""

    camera: bool = False
    eye: bool = False
    lights: bool = False
    texture: bool = False


class Found(NamedTuple):
    """cotangents; and, if wanted: lights (columns,), eye (frames, 3), image."""

    cotangents: Cotangents
    lights: Any = None
    eye: Any = None
    image: Any = None


def backward(
    plan: Plan, source: Source, drawn: Rasterised, shaded: Shaded, own_corners: Corners, extras: Extras,
    adj_planes: Any, adj_depths: Any, soft: bool,
) -> Found:  # fmt: skip
    """Cotangents from those of the planes (frames, pixels x channels) and of the depths; either may be None.

    soft: whether the last of the planes is the mask, and passes something.
    """
    arena, layout, surfacing, features = plan.arena, plan.layout, shaded.surfacing, shaded.features
    size = layout.padded[1] * layout.padded[2]
    stride = 0 if adj_planes is None else int(adj_planes.shape[1]) // size
    coloured = stride > int(soft)
    active, width = coloured or adj_depths is not None, int(features.by_point.shape[1]) + features.width
    covered, chunks = (int(a.shape[0]) if active else 0 for a in (shaded.pixels.x, shaded.pixels.owner))
    channels, stripes = 3 if surfacing.shades else width, (1 if plan.settings.kaolin else layout.stripes) * int(soft)
    wants = Wants(
        int(active), int(active and coloured) * surfacing.shades, channels if coloured else 0,
        int(adj_depths is not None), stripes, int(extras.texture), int(extras.eye), int(extras.lights),
    )  # fmt: skip
    fill = None if coloured else 0.0
    rgb = arena.floats(channels, covered, fill=fill)
    adjoint = PixelsAdjoint(
        rgb, arena.floats(width, covered, fill=fill) if surfacing.shades else rgb,
        arena.floats(1, covered if wants.deep else 0), arena.floats(3, covered if extras.texture else 0),
        arena.floats(3, covered if extras.eye else 0),
        arena.floats(covered // layout.lanes if extras.lights else 0, table_columns(surfacing.lights), fill=0.0),
    )  # fmt: skip
    entries = int(drawn.lists.triangle.shape[0]) if soft else 0
    slots = Slots(
        arena.floats(entries * stripes, 6), arena.floats(chunks, 3, 3),
        arena.floats(chunks, 3, features.by_point.shape[1]), arena.floats(3 * chunks * features.width),
        arena.floats(*(layout.padded if soft else (0, 0, 0))),
    )  # fmt: skip
    places, world = int(source.screen.shape[0]), int(source.world.shape[0])
    found = Cotangents(
        arena.floats(layout.triangles, 3, 3), arena.floats(places, 3), arena.floats(*features.by_point.shape),
        arena.floats(features.rows * features.width), arena.floats(world, 3, fill=0.0), arena.floats(world, 3),
        arena.floats(layout.frames if extras.camera else 0, 16),
    )  # fmt: skip
    cells = Cells(drawn.first_cell, arena.ints(drawn.cells if soft else 0, fill=0))
    near_open = arena.flags(layout.triangles if soft else 0, fill=False)
    none = arena.floats(0, 0)
    plan.run(
        "backward", plan.setup, wants, source,
        Drawn(
            drawn.triangles.box, drawn.triangles.sides, drawn.lists, drawn.coverage.open, drawn.mask, drawn.last, cells,
            near_open,
        ), shaded,
        PlanesAdjoint(stride, none if adj_planes is None else adj_planes, none if adj_depths is None else adj_depths),
        adjoint, slots, layout.corners, own_corners, found,
    )  # fmt: skip
    return Found(found, **_totals(plan, shaded, extras, adjoint) if active else {})


def _totals(plan: Plan, shaded: Shaded, extras: Extras, adjoint: PixelsAdjoint) -> dict[str, Any]:
    """Cotangents of lights, eye and image, as far as wanted, from the sums over runs and pixels."""
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
        copies = arena.floats(texture_copies(texels.image), *texels.image.shape)
        plan.run("sum_texture", texels, value[d], value[d + 1], shaded.surfacing.frame, adjoint.colour, copies)
        found["image"] = copies[0]
    return found
