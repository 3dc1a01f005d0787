"""One draw: its plan, which does not depend on vertices; its arrays; and the runs of the program in order."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from diffloom_kernels import BoundRecord, as_array, num_threads
from diffloom_raster import (
    BehindNearError,
    ImageLayout,
    allocate_point_cotangents,
    allocate_slots,
    split_camera_cotangents,
)
from diffloom_raster.kernels import TILE
from diffloom_raster.records import Bins, Cameras, TileLists
from diffloom_raster.surface_records import CornerSlots, PointCotangents

from .coverage_kernels import NOTHING
from .fragment_kernels import OUTLINE
from .pipeline_kernels import program
from .records import (
    Blur,
    Fade,
    Fragments,
    SoftCoverage,
    SoftLimit,
    SoftRules,
    SoftSetup,
    SoftSource,
    SoftTriangles,
)

#: Twice the area under which a triangle is left out, where the image's short side spans 2.
SMALLEST_AREA = 1e-8


class Softness(NamedTuple):
    """Blur of faces, in pixels.

    sharpness: 1 / sigma [1/px^2]. reach: distance up to which a face acts outside its outline [px]. gamma: softness in
    depth, relative to far - near. most: number of nearest faces that count, 0 for all.
    """

    sharpness: float
    reach: float
    gamma: float
    most: int
    cull: bool
    perspective: bool


@dataclass(frozen=True, eq=False)
class SoftPlan:
    """Parameters of a draw that do not depend on the scene.

    setup: constant arguments of kernels. most: number of faces that count, 0 for all.
    """

    layout: ImageLayout
    setup: BoundRecord
    far: float
    most: int

    def run(self, pipeline: str, *args: Any, small: bool = False) -> None:
        """Run a pipeline on all threads, so that its code is compiled once only; on one thread if ``small``."""
        target = self.layout.target
        if target == "auto" and self.layout.arena.on_host:
            target = "parallel" if num_threads() > 1 else "serial"
        program.run(pipeline, *args, target="serial" if small and target == "parallel" else target)


def find_plan(layout: ImageLayout, soft: Softness, far: float) -> SoftPlan:
    """Return the plan of a layout; kept for layouts that are kept."""
    return _make_plan(layout, soft, far) if layout.cut else _kept_plan(layout, soft, far)


def _make_plan(layout: ImageLayout, soft: Softness, far: float) -> SoftPlan:
    epsilon, span = float(torch.finfo(layout.arena.dtype).eps), far - layout.near
    least_area = SMALLEST_AREA * (0.5 * min(layout.height, layout.width)) ** 2
    rules = SoftRules(int(soft.cull), int(soft.perspective), soft.reach, least_area)
    # A face is skipped when its weight is less than an eighth of the last bit of the nearest face's weight, whose
    # probability is at least that at the edge of its reach.
    cut = math.log(epsilon / 8.0) + min(-soft.sharpness * soft.reach**2, 0.0) - math.log(2.0)
    blur = Blur(soft.sharpness, soft.reach**2, soft.most, 4.0 / epsilon)
    fade = Fade(1.0 / (soft.gamma * span), cut, far, span, soft.gamma)
    return SoftPlan(layout, BoundRecord(SoftSetup(layout.bound.record, rules, blur, fade)), far, soft.most)


_kept_plan = functools.lru_cache(maxsize=32)(_make_plan)


#: Number of triangles from which setting them up and sorting them on threads pays.
MANY_TRIANGLES = 5000


@dataclass
class SoftDrawing:
    """Triangles projected, set up and binned; made by ``prepare``."""

    plan: SoftPlan
    source: SoftSource
    triangles: SoftTriangles
    bins: Bins
    lists: TileLists
    active: int
    cells: int
    limited: int = 0

    @property
    def entries(self) -> int:
        """Number of pairs of a triangle and a tile."""
        return int(self.lists.triangle.shape[0])

    @property
    def pixels(self) -> int:
        """Number of pixels in the tiles that have entries."""
        return self.active * TILE * TILE

    def cover(self, depths: bool) -> tuple[Fragments, SoftCoverage]:
        """Return coverage, and depths if wanted; computed again with limits where more faces reach a pixel than
        count.
        """
        plan, arena = self.plan, self.plan.layout.arena
        full, small = plan.layout.padded, (1, 1, 1)
        deep, most = full if depths or plan.most else small, full if plan.most else small
        coverage = SoftCoverage(
            arena.floats(*full, fill=1.0), arena.floats(*deep, fill=NOTHING), arena.floats(*deep, fill=-1.0),
            arena.floats(*most, fill=0.0),
        )  # fmt: skip
        limit = SoftLimit(arena.floats(*most, fill=NOTHING))
        fragments = Fragments(self.triangles, self.lists, limit)
        plan.run("cover_first", self.pixels, int(depths), plan.setup, self.bins.counts, fragments, coverage)
        if plan.most and bool(coverage.hits.max() > plan.most):
            self.limited = 1
            scratch = arena.floats(self.entries, TILE)
            plan.run("find_limits", self.pixels, plan.setup, fragments, coverage.hits, scratch)
            plan.run("cover_pixels", self.pixels, 1, 1, plan.setup, fragments, coverage)
        return fragments, coverage

    def face_index(self) -> Tensor:
        """Return the nearest triangle of a frame that covers a pixel's centre, -1 for none: (frames, height, width)
        int64.
        """
        plan, layout = self.plan, self.plan.layout
        index = layout.arena.floats(*layout.padded, fill=-1.0)
        plan.run("fill", plan.setup, self.triangles, self.bins.counts, self.lists)
        plan.run("index_pixels", self.pixels, plan.setup, self.triangles, self.lists, index)
        return layout.crop(index).long()

    def slots(self, parts: int) -> CornerSlots:
        """Return arrays for the cotangents of entries."""
        return allocate_slots(self, self.bins.first_cell, self.cells, parts)

    def adjoint(self) -> PointCotangents:
        """Return arrays for the cotangents of points."""
        return allocate_point_cotangents(self)

    def camera_adjoint(self, camera: list[Tensor], adjoint: PointCotangents) -> list[Tensor]:
        """Return cotangents of rotation, eye, focal and centre; camera: the first two."""
        rows = self.plan.layout.arena.floats(self.plan.layout.frames, 16)
        self.plan.run("cameras_adjoint", self.plan.setup, self.source, adjoint, rows)
        return split_camera_cotangents(self.plan.layout.arena.tensor(rows), *camera)


def prepare(plan: SoftPlan, points: Tensor, camera: tuple[Tensor, ...]) -> SoftDrawing:
    """Project points, set up triangles and count them into tiles; raise BehindNearError."""
    layout, arena, n = plan.layout, plan.layout.arena, plan.layout.triangles
    source = SoftSource(Cameras(*map(as_array, camera)), as_array(points).reshape(-1, 3))
    screen: Any = arena.floats(*source.points.shape)
    triangles = SoftTriangles(arena.floats(n, OUTLINE), arena.ints(n, 4), arena.floats(n, 9), arena.flags(n))
    bins = layout.bins()
    plan.run("prepare", plan.setup, source, screen, triangles, bins, small=n < MANY_TRIANGLES)
    if not layout.cut and bool(screen[:, 2].min() < layout.near):
        raise BehindNearError
    return SoftDrawing(plan, source, triangles, bins, *layout.lists(bins))
