"""Drawing: the runs of the program in order, and the arrays they leave behind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from diffloom.shading.kernels.tiles import TILE
from diffloom.shading.topology import Corners

from .kernels.triangles import HARD, SIDES
from .plan import Plan, kept_numbers


class BehindNearError(Exception):
    """Some point is nearer than the camera's near: faces must be cut before they can be drawn."""


@dataclass(frozen=True)
class Source:
    """Where points come from: the world through a camera, or given in place.

    camera: (rotation, eye, focal, centre). world: (points, 3) [m]. place: (points, 3) x, y, depth, filled by drawing if
    it projects.
    """

    camera: tuple[Any, ...]
    world: Any
    place: Any
    projects: bool


@dataclass(frozen=True)
class Features:
    """What is interpolated: by_point (points, n); own (rows, m), the corners of faces using rows own_corners."""

    by_point: Any
    own: Any
    own_corners: Corners

    @property
    def kernel(self) -> tuple[Any, Any, Any]:
        """The tuple that kernels call features."""
        return self.by_point, self.own, self.own_corners.index

    @property
    def channels(self) -> int:
        """Of a pixel's values."""
        return int(self.by_point.shape[1] + self.own.shape[1])


@dataclass(frozen=True)
class Colouring:
    """How values become colours; look and light: see kernels/colouring.py.

    shades: 0 if values are colours already. many_eyes: whether the camera moves and the lights ask where it is.
    """

    shades: int
    look: tuple[Any, ...]
    light: tuple[Any, ...]
    many_eyes: bool = False

    def for_pixels(self, eye_row: Any) -> tuple[Any, ...]:
        """The tuple that kernels call light, given the frames of pixels."""
        return (self.light[0], eye_row, *self.light[2:])


@dataclass(frozen=True)
class Seen:
    """What pixels show, and what of it the adjoint needs: see the kernels for the meaning of each."""

    records: tuple[Any, ...]
    first_cell: Any
    cells: int
    lists: tuple[Any, ...]
    work: tuple[Any, ...]
    miss: Any
    limit: Any
    last: Any
    touched: Any
    first: Any
    chunk: Any

    @property
    def face_index(self) -> Any:
        """Triangle at each pixel, filled up to whole tiles."""
        return self.work[3]


@dataclass(frozen=True)
class Painted:
    """Values and colours of the covered pixels, and the planes made of them."""

    pixels: tuple[Any, ...]
    spot: Any
    weight: Any
    value: Any
    planes: Any
    depths: Any
    eye_row: Any


def see(plan: Plan, source: Source, covered: Any = None) -> Seen:
    """Find what pixels show and the soft mask; raises BehindNearError.

    covered: (frames, padded height, padded width) flags where something is known to be shown, then only the mask is
    found.
    """
    room, rules, n = plan.room, plan.rules, plan.triangles
    tiles = plan.frames * plan.grid[0] * plan.grid[1]
    ready = 0 if rules.kaolin else n
    records = (
        room.ints(n, 4), room.ints(n, 4), room.floats(n, 9), room.floats(ready, HARD), room.floats(ready, SIDES),
    )  # fmt: skip
    frame, first_cell, start = room.ints(n), room.ints(n), room.ints(tiles + 1)
    counts, totals = room.ints(tiles), room.ints(plan.frames + 1, 3, fill=0)
    head = (
        plan.bands, plan.count, plan.size, plan.grid, plan.middle, plan.numbers, source.camera, source.world,
        source.place, plan.mesh, plan.frame_start, plan.drawn, records, frame,
        (counts, totals, start, room.ints(tiles), first_cell),
    )  # fmt: skip
    if rules.kaolin:
        plan.run("kaolin_prepare", int(source.projects), *head)
    else:
        plan.run("prepare", int(source.projects), int(rules.cull), *head)
        if source.projects and not plan.cut and bool((source.place[:, 2] < plan.near).any()):
            raise BehindNearError
    entries, _, cells = totals[plan.frames].tolist()
    seen = Seen(
        records, first_cell, cells, (start, room.ints(entries), room.ints(entries), room.flags(tiles)),
        (frame, room.flags(n, fill=False), room.ints(n), room.ints(*plan.padded)), *_mask_arrays(plan, entries),
        room.ints(n + 1), room.ints(n + 1),
    )  # fmt: skip
    _look(plan, source, covered, seen, counts)
    return seen


def _mask_arrays(plan: Plan, entries: int) -> tuple[Any, Any, Any, Any]:
    """miss, limit, last and touched; empty where the rules do not use them."""
    room, soft, kaolin = plan.room, plan.rules.soft, plan.rules.kaolin
    stripes = entries * (TILE // plan.lanes)
    return (
        room.floats(*(plan.padded if soft else (0, 0, 0))),
        room.floats(*(plan.padded if soft and not kaolin else (0, 0, 0))),
        room.ints(*(plan.padded if soft and kaolin else (0, 0, 0))),
        room.ints(stripes if soft and not kaolin else 0),
    )


def _look(plan: Plan, source: Source, covered: Any, seen: Seen, counts: Any) -> None:
    """Fill the arrays of ``seen``."""
    room, rules = plan.room, plan.rules
    which = room.floats(*plan.padded)
    if covered is not None:
        which[...] = -1.0
        which[covered] = 0.0
        seen.face_index[...] = -1
        seen.face_index[covered] = plan.triangles  # none of them
        seen.lists[3][...] = True
    head = (
        int(covered is None), int(rules.soft), plan.bands, plan.length, rules.knum, plan.size, plan.grid, plan.middle,
        plan.numbers, plan.view, plan.frame_start, seen.records,
    )  # fmt: skip
    tail = seen.first, seen.chunk
    if rules.kaolin:
        plan.run(
            "kaolin_see", *head, source.place, plan.mesh, plan.shown, counts, seen.lists, seen.work, which, seen.miss,
            seen.last, *tail,
        )  # fmt: skip
    else:
        near = room.floats(int(seen.lists[1].shape[0]), TILE)
        plan.run(
            "see", *head, plan.mate, counts, seen.lists, seen.work, room.floats(*plan.padded), which, near, seen.miss,
            seen.limit, seen.touched, *tail,
        )  # fmt: skip


def paint(
    plan: Plan, source: Source, seen: Seen, features: Features, colouring: Colouring, background: tuple[float, ...],
    far: float | None,
) -> Painted:  # fmt: skip
    """Planes (frames, pixels x (channels and mask)), background where nothing is seen; depths, unless far is None."""
    room, rules, covered, chunks = plan.room, plan.rules, int(seen.first[-1]), int(seen.chunk[-1])
    channels = 3 if colouring.shades else features.channels
    centres = room.floats(2, covered)
    pixels = (seen.first, seen.chunk, room.ints(chunks), centres[0], centres[1])
    spot, weight, depth = room.ints(covered), room.floats(3, covered), room.floats(1, covered)
    value = room.floats(features.channels, covered)
    rgb = room.floats(3, covered) if colouring.shades else value
    frames, height, width = plan.padded
    planes = room.floats(frames, height * width * (channels + int(rules.soft)))
    depths = room.floats(frames if far is not None else 0, height * width)
    ground = kept_numbers(room, (*background, *(0.0,) * (channels - len(background)), far or 0.0))
    eye_row = room.ints(covered if colouring.many_eyes else 0)
    plan.run(
        "paint", colouring.shades, channels, int(far is not None), int(rules.soft), int(rules.kaolin), plan.lanes,
        plan.length, plan.numbers, plan.view, source.place, plan.mesh, plan.frame_start, features.kernel, seen.records,
        seen.work, pixels, spot, weight, value, depth, colouring.look, colouring.for_pixels(eye_row), rgb, seen.miss,
        ground, planes, depths,
    )  # fmt: skip
    return Painted(pixels, spot, weight, value, planes, depths, eye_row)
