"""The adjoint of drawing: from the cotangents of planes to those of all that made them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from diffloom.shading.kernels.tiles import TILE

from .drawing import Colouring, Features, Painted, Seen, Source
from .kernels.colouring import LIGHTS
from .plan import Plan

#: Copies of a texture that its cotangent is summed in, and the memory they may take together [bytes].
COPIES, COPIES_MEMORY = 8, 256 * 2**20


@dataclass(frozen=True)
class Wants:
    """Cotangents that cost extra: of the camera, of the eye through highlights, of lights, of the texture."""

    camera: bool = False
    eye: bool = False
    lights: bool = False
    texture: bool = False


@dataclass(frozen=True)
class Cotangents:
    """place (points, 3), by_point and own as given, world (points, 3), camera (frames, 16): rotation, eye, focal,
    centre; then, if wanted: lights (columns,), eye (frames, 3), image."""

    place: Any
    by_point: Any
    own: Any
    world: Any
    camera: Any
    lights: Any = None
    eye: Any = None
    image: Any = None


def pull_back(
    plan: Plan, source: Source, seen: Seen, painted: Painted, features: Features, colouring: Colouring, wants: Wants,
    adj_planes: Any, adj_depths: Any, soft: bool,
) -> Cotangents:  # fmt: skip
    """Cotangents from those of the planes (frames, pixels x channels) and of the depths; either may be None.

    soft: whether the last of the planes is the mask, and passes something.
    """
    room, places = plan.room, int(source.place.shape[0])
    stride = 0 if adj_planes is None else int(adj_planes.shape[1]) // (plan.padded[1] * plan.padded[2])
    coloured = stride > int(soft)
    active, shades = coloured or adj_depths is not None, colouring.shades
    covered, chunks = (int(painted.pixels[k].shape[0]) if active else 0 for k in (3, 2))
    channels = 3 if shades else features.channels
    parts = (1 if plan.rules.kaolin else TILE // plan.lanes) if soft else 0
    entries = int(seen.lists[1].shape[0]) if soft else 0
    none = room.floats(0, 0)
    fill = None if coloured else 0.0
    adj_rgb = room.floats(channels, covered, fill=fill)
    adj_value = room.floats(features.channels, covered, fill=fill) if shades else adj_rgb
    columns = LIGHTS + 9 * len(colouring.light[3]) + 3 * int(colouring.light[5].shape[0])
    sums = (
        room.floats(3, covered if wants.texture else 0), room.floats(3, covered if wants.eye else 0),
        room.floats(covered // plan.lanes if wants.lights else 0, columns),
    )  # fmt: skip
    slots = (
        room.floats(entries * parts, 6), room.floats(chunks, 3, 3), room.floats(chunks, 3, features.by_point.shape[1]),
        room.floats(chunks, 3, features.own.shape[1]), room.floats(*(plan.padded if soft else (0, 0, 0))),
    )  # fmt: skip
    world = (places, 3) if source.projects else (0, 3)
    found = Cotangents(
        room.floats(places, 3), room.floats(*features.by_point.shape), room.floats(*features.own.shape),
        room.floats(*world, fill=0.0), room.floats(plan.frames if wants.camera else 0, 16),
    )  # fmt: skip
    own, corners = features.own_corners, plan.corners
    plan.run(
        "pull_back", int(active), int(active and coloured) * shades, channels if coloured else 0, stride,
        int(adj_depths is not None), parts, int(source.projects), plan.frames if wants.camera else 0,
        int(plan.rules.kaolin), plan.lanes, plan.length, plan.count, plan.size, plan.grid, plan.middle, plan.numbers,
        plan.view, source.camera, source.world, source.place, plan.mesh, (corners.start, corners.corner),
        features.kernel, (own.start, own.corner), seen.records, plan.mate, seen.work, seen.lists, painted.pixels,
        painted.spot, painted.weight, painted.value, colouring.look, colouring.for_pixels(painted.eye_row),
        (int(wants.texture), int(wants.eye), int(wants.lights)), seen.miss, seen.limit, seen.last,
        seen.touched, _cells(plan, seen, soft), none if adj_planes is None else adj_planes,
        none if adj_depths is None else adj_depths, adj_rgb, adj_value,
        room.floats(1, 0 if adj_depths is None else covered), sums, slots, room.floats(plan.triangles, 3, 3),
        found.place, found.by_point, found.own, found.world, room.floats(*world), found.camera,
    )  # fmt: skip
    return replace(found, **_totals(plan, seen, painted, colouring, wants, sums) if active else {})


def _cells(plan: Plan, seen: Seen, soft: bool) -> tuple[Any, Any, Any]:
    """See kernels/gathering.py."""
    room = plan.room
    count, flags = (seen.cells, plan.triangles) if soft else (0, 0)
    return seen.first_cell, room.ints(count, fill=0), room.flags(flags, fill=False)


def _totals(
    plan: Plan, seen: Seen, painted: Painted, colouring: Colouring, wants: Wants, sums: tuple[Any, Any, Any]
) -> dict[str, Any]:
    """Cotangents of lights, eye and image, as far as wanted, from the sums over runs and pixels."""
    room, found = plan.room, {}
    adj_colour, adj_eye, table = sums
    if wants.lights or wants.eye:
        lights, eye = room.floats(int(table.shape[1])), room.floats(plan.frames, 3)
        frames = plan.frames if wants.eye else 0
        plan.run("sum_lights", frames, plan.frame_start, seen.first, table, adj_eye, lights, eye)
        found = {"lights": lights if wants.lights else None, "eye": eye if wants.eye else None}
    if wants.texture:
        # in a number of copies that depends on sizes only, so that threads do not change a bit
        lit, _, corners, bilinear, image = colouring.look
        texels = int(image.shape[0]) * int(image.shape[1]) * 3
        copies = max(1, min(COPIES, COPIES_MEMORY // (8 * texels)))
        total = room.floats(copies, *image.shape)
        plan.run("sum_texture", 6 if lit else 0, corners, bilinear, painted.value, adj_colour, total)
        found["image"] = total[0]
    return found
