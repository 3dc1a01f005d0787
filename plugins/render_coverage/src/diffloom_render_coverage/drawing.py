"""One draw: its plan, known before the first vertex is; its arrays; and the runs of the program in order."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
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

from .piece_kernels import CORNERS, SLOTS
from .pipeline_kernels import program
from .records import (
    EdgeNeighbours,
    Images,
    Limit,
    Outlines,
    Pieces,
    ProjectedPoints,
    Rules,
    SceneRecord,
    Setup,
    Wants,
)
from .tallies import Tally, keep_tally
from .topology import find_closed, find_neighbours
from .triangle_kernels import OUTLINE

#: Thresholds by precision, see records.Rules.
RULES = {
    torch.float32: Rules(smallest=1e-8, least=1e-7, touch=1e-6, equal=2e-6),
    torch.float64: Rules(smallest=1e-14, least=1e-13, touch=1e-13, equal=1e-10),
}

#: Workers that share the pixels that are divided into pieces, on a CPU and on CUDA.
WORKERS = {"cpu": 32, "cuda": 2048}


@dataclass(frozen=True, eq=False)
class Plan:
    """setup: what kernels are told besides arrays that depend on the scene."""

    layout: ImageLayout
    setup: BoundRecord
    far: float

    def run(self, pipeline: str, *args: Any) -> None:
        """Run a pipeline: with threads wherever there are several, so that code is compiled once only."""
        target = self.layout.target
        if target == "auto" and self.layout.arena.on_host:
            target = "parallel" if num_threads() > 1 else "serial"
        program.run(pipeline, *args, target=target)

    def workers(self, items: int) -> int:
        """Return the number of workers that share a number of work items.

        Args:
            items: Number of work items.

        Returns:
            At least 1.
        """
        return max(1, min(items, WORKERS["cuda" if self.layout.on_cuda else "cpu"]))

    def pieces(self, workers: int) -> Pieces:
        """Scratch memory of workers."""
        arena, rows = self.layout.arena, workers * SLOTS
        return Pieces(
            arena.floats(rows, CORNERS), arena.floats(rows, CORNERS), arena.ints(rows, CORNERS),
            arena.ints(rows, CORNERS), arena.floats(rows, CORNERS), arena.ints(rows), arena.ints(rows),
        )  # fmt: skip


def find_plan(layout: ImageLayout, culls: bool | None, far: float) -> Plan:
    """Return the plan of a layout; kept for layouts that are kept."""
    return _make_plan(layout, culls, far) if layout.cut else _kept_plan(layout, culls, far)


def _make_plan(layout: ImageLayout, culls: bool | None, far: float) -> Plan:
    edges = _find_edges(layout, culls)
    rules = RULES[layout.arena.dtype]
    return Plan(layout, BoundRecord(Setup(layout.bound.record, rules, edges, far, layout.stripes)), far)


_kept_plan = functools.lru_cache(maxsize=32)(_make_plan)


def _find_edges(layout: ImageLayout, culls: bool | None) -> EdgeNeighbours:
    """Topology of a layout's faces. Where faces were cut, every edge counts as a boundary: parts share no points."""
    faces = layout.arena.tensor(layout.corners.faces).cpu().numpy()
    neighbour = np.full(faces.shape, -1, np.int32) if layout.cut else find_neighbours(faces)
    closed = np.zeros(len(faces), np.int32) if layout.cut else find_closed(neighbour)
    side = closed if culls is None else np.full(len(faces), int(culls), np.int32)
    return EdgeNeighbours(*(as_array(torch.from_numpy(a).to(layout.arena.device)) for a in (neighbour, side)))


@dataclass
class Drawing:
    """Triangles projected, set up and binned; made by ``prepare``."""

    plan: Plan
    scene: SceneRecord
    first_cell: Any
    active: int
    cells: int

    @property
    def source(self) -> ProjectedPoints:
        """Points and cameras."""
        return self.scene.source

    @property
    def triangles(self) -> Outlines:
        """Triangles set up."""
        return self.scene.triangles

    @property
    def lists(self) -> TileLists:
        """Entries of the tiles: pairs of a triangle and a tile."""
        return self.scene.lists

    @property
    def items(self) -> int:
        """Work items of the passes over pieces."""
        return self.active * self.plan.layout.stripes

    def draw(self, wants: Wants, shading: Any, images: Images) -> None:
        """Fill the images."""
        plan = self.plan
        workers = plan.workers(self.items)
        tally = plan.layout.arena.ints(workers, 2, fill=0)
        plan.run(
            "draw", self.pixels, workers, self.items, wants, plan.setup, self.scene, shading, images,
            plan.pieces(workers), tally,
        )  # fmt: skip
        crowded, crossing = plan.layout.arena.tensor(tally).sum(0).tolist()
        keep_tally(Tally(crowded, crossing))

    @property
    def pixels(self) -> int:
        """Pixels of the tiles that have entries."""
        return self.active * TILE * TILE

    def face_index(self) -> Tensor:
        """(frames, height, width) int64: the nearest triangle of a frame that holds a pixel's centre, -1 for none."""
        plan, layout = self.plan, self.plan.layout
        index = layout.arena.floats(*layout.padded, fill=-1.0)
        plan.run("index_pixels", self.pixels, plan.setup, self.scene, index)
        return layout.crop(index).long()

    def slots(self, parts: int) -> CornerSlots:
        """Allocate the arrays that receive the cotangents of each entry of the tile lists."""
        return allocate_slots(self, self.first_cell, self.cells, parts, fill=0.0)

    def adjoint(self) -> PointCotangents:
        """Arrays for the cotangents of points."""
        return allocate_point_cotangents(self)

    def camera_adjoint(self, camera: list[Tensor], adjoint: PointCotangents) -> list[Tensor]:
        """Cotangents of rotation, eye, focal and centre; camera: the first two."""
        rows = self.plan.layout.arena.floats(self.plan.layout.frames, 16)
        self.plan.run("cameras_adjoint", self.plan.setup, self.source, adjoint, rows)
        return split_camera_cotangents(self.plan.layout.arena.tensor(rows), *camera)


def prepare(plan: Plan, points: Tensor, camera: tuple[Tensor, ...]) -> Drawing:
    """Project, set up and sort; raises BehindNearError."""
    layout, arena, n = plan.layout, plan.layout.arena, plan.layout.triangles
    world = as_array(points).reshape(-1, 3)
    source = ProjectedPoints(Cameras(*map(as_array, camera)), world, arena.floats(*world.shape))
    triangles = Outlines(arena.ints(n, 4), arena.floats(n, 9), arena.floats(n, OUTLINE), arena.ints(n))
    bins: Bins = layout.bins()
    plan.run("prepare", plan.setup, source, triangles, bins)
    if not layout.cut and bool(source.screen[:, 2].min() < layout.near):
        raise BehindNearError
    lists, active, cells = layout.lists(bins)
    limit = Limit(arena.floats(*layout.padded, fill=0.0), arena.ints(int(lists.triangle.shape[0])))
    scene = SceneRecord(source, triangles, lists, limit)
    plan.run("arrange", plan.setup, bins.counts, scene)
    return Drawing(plan, scene, bins.first_cell, active, cells)
