"""One call of the rasterizer: its arrays, and the runs of the program in order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from diffloom.kernels import num_threads
from diffloom.shading.kernels.tiles import TILE

from .kernels.triangles import RECORD
from .plan import Plan

#: Triangles from which setting them up and sorting them pays for threads.
MANY_TRIANGLES = 5000


def main_target(plan: Plan) -> str:
    """Where the large passes run: with threads wherever there are several, so that code is compiled once only."""
    if plan.target != "auto" or not plan.room.on_host:
        return plan.target
    return "parallel" if num_threads() > 1 else "serial"


def is_limited(plan: Plan, found: tuple[Any, ...]) -> int:
    """1 if some pixel has more faces than count."""
    return int(plan.soft.most > 0 and bool(found[3].max() > plan.soft.most))


class BehindNearError(Exception):
    """Some point is nearer than the camera's near: faces must be cut before they can be drawn."""


@dataclass
class Drawing:
    """Triangles projected, set up and sorted into tiles; made by ``prepare``."""

    plan: Plan
    camera: tuple[Any, ...]
    points: Any
    shape: tuple[Any, ...]
    planes: Any
    count: Any
    lists: tuple[Any, ...]
    first_cell: Any
    cells: int
    active: int
    filled: bool = False

    @property
    def entries(self) -> int:
        """Pairs of a triangle and a tile."""
        return int(self.lists[2].shape[0])

    @property
    def pixels(self) -> int:
        """In the tiles that have entries."""
        return self.active * TILE * TILE

    def run(self, schedule: str, *args: Any) -> None:
        """Run a schedule on the plan's target."""
        self.plan.program.run(schedule, *args, target=main_target(self.plan))

    def filling(self) -> tuple[Any, ...]:
        """Leading arguments of the schedules that fill the lists, which need it only once."""
        plan = self.plan
        frames, self.filled = 0 if self.filled else plan.frames, True
        return frames, plan.bands, plan.grid, plan.middle, plan.mesh, self.shape, self.planes, self.count, self.lists

    def survey(self, depths: bool, found: tuple[Any, ...], limit: tuple[Any, ...], room: Any) -> None:
        """Coverage, and depths if wanted; once more where there are more faces than count."""
        plan, most = self.plan, self.plan.soft.most
        rest = self.pixels, plan.full, plan.view, plan.blur, limit, found
        self.run("survey", *self.filling(), (int(depths), most, 0), *rest)
        if is_limited(plan, found):
            scene = plan.mesh, self.shape, self.lists, plan.view, plan.blur
            self.run("limits", self.pixels, most, *scene, found[3], room, limit)
            self.run("survey", *self.filling(), (1, most, 1), *rest)


def prepare(plan: Plan, points: Any, camera: tuple[Any, ...]) -> Drawing:
    """Project, set up and count; raises BehindNearError."""
    room, frames, n = plan.room, plan.frames, plan.triangles
    tiles = frames * plan.grid[0] * plan.grid[1]
    screen = room.floats(frames * plan.count, 3)
    shape = room.floats(n, RECORD), room.ints(n, 4), room.flags(n)
    planes = room.floats(n, 9)
    count, total = room.ints(tiles), room.ints(frames + 1, 3, fill=0)
    start, active, first_cell = room.ints(tiles + 1), room.ints(tiles), room.ints(n)
    plan.program.run(
        "prepare", frames, plan.bands, plan.count, plan.near, plan.middle, plan.grid, (plan.height, plan.width),
        (int(plan.soft.cull), int(plan.soft.perspective)), plan.soft.reach, plan.least_area, camera, plan.mesh, points,
        screen, shape, planes, (count, total, start, active, first_cell),
        target="serial" if n < MANY_TRIANGLES and main_target(plan) == "parallel" else main_target(plan),
    )  # fmt: skip
    if not plan.cut and bool(screen[:, 2].min() < plan.near):
        raise BehindNearError
    entries, busy, cells = (int(value) for value in total[frames])
    lists = active, start, room.ints(entries), room.ints(entries)
    return Drawing(plan, camera, points, shape, planes, count, lists, first_cell, cells, busy)
