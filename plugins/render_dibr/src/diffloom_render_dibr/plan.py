"""Everything about a picture that is known before the first point is: sizes, rules, topology."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
import torch

from diffloom.shading.arrays import Room
from diffloom.shading.kernels.tiles import TILE
from diffloom.shading.topology import Corners

from .programs import program

#: Pixels of a triangle that one work item interpolates and pulls back, at most: on a CPU, on CUDA.
CHUNK = {"cpu": 1024, "cuda": 32}


@dataclass(frozen=True)
class Rules:
    """How pixels are decided.

    kaolin: by Kaolin's rules on its plane [-1, 1]^2, else by ours on pixels. soft: whether the soft mask is wanted.
    sharpness, reach: of the mask, in units of that plane or of pixels. knum: triangles that count in it. cull: leave
    out triangles seen from behind (ours only). multiplier, eps: see kernels/kaolin_weights.py.
    """

    kaolin: bool
    soft: bool
    sharpness: float
    reach: float
    knum: int
    cull: bool = False
    multiplier: float = 1000.0
    eps: float = 1e-8


@dataclass(frozen=True)
class Plan:
    """What the kernels are told besides arrays that depend on the scene; kept from call to call.

    count: points in a frame. corners: the triangles of a frame, or of all frames when cut. frame_start: (frames + 1,)
    triangles. drawn, shown: (triangles,) flags, or empty for all; what is not drawn is nowhere, what is not shown still
    takes part in Kaolin's mask. mate: (triangles,) the other half of a cut face or -1, or empty. near: least depth [m].
    program: what runs the schedules.
    """

    room: Room
    rules: Rules
    frames: int
    count: int
    corners: Corners
    cut: bool
    frame_start: Any
    height: int
    width: int
    drawn: Any
    shown: Any
    mate: Any
    near: float = -1e30
    target: str = "auto"
    program: Any = program

    @functools.cached_property
    def triangles(self) -> int:
        """Of all frames."""
        faces = int(self.corners.index.shape[0])
        return faces if self.cut else faces * self.frames

    @functools.cached_property
    def mesh(self) -> tuple[int, Any]:
        """See kernels/grid.py."""
        return self.count * self.frames if self.cut else self.count, self.corners.index

    @functools.cached_property
    def size(self) -> tuple[int, int]:
        """Height and width [px]."""
        return self.height, self.width

    @functools.cached_property
    def grid(self) -> tuple[int, int]:
        """Tiles across and down."""
        return -(-self.width // TILE), -(-self.height // TILE)

    @functools.cached_property
    def middle(self) -> Any:
        """Half width and half height [px], as an array: kernels take no time over those."""
        return kept_numbers(self.room, (0.5 * self.width, 0.5 * self.height))

    @functools.cached_property
    def numbers(self) -> Any:
        """See kernels/schedules.py."""
        rules = self.rules
        return kept_numbers(self.room, (self.near, self.reach, rules.sharpness, rules.multiplier, rules.eps))

    @functools.cached_property
    def padded(self) -> tuple[int, int, int]:
        """Frames, height and width of pictures made of whole tiles."""
        across, down = self.grid
        return self.frames, TILE * down, TILE * across

    @functools.cached_property
    def view(self) -> tuple[int, int, Any, Any]:
        """See kernels/grid.py."""
        columns, rows = pixel_centres(self.room, self.height, self.width, self.rules.kaolin)
        return (*self.grid, columns, rows)

    @functools.cached_property
    def reach(self) -> float:
        """How far triangles act beyond their sides."""
        return self.rules.reach if self.rules.soft else 0.0

    @functools.cached_property
    def on_cuda(self) -> bool:
        """Whether CUDA kernels run, or what simulates them."""
        return not self.room.on_host or self.target == "cuda"

    @functools.cached_property
    def bands(self) -> int:
        """Parts of a frame whose tiles are sorted at the same time."""
        if self.on_cuda:
            return self.grid[1]
        return 1 if self.frames >= 4 else min(4, self.grid[1])

    @functools.cached_property
    def length(self) -> int:
        """Pixels of a chunk."""
        return CHUNK["cuda" if self.on_cuda else "cpu"]

    @functools.cached_property
    def lanes(self) -> int:
        """Elements of a run."""
        if self.on_cuda or numba.config.DISABLE_JIT:
            return 1
        return 8 if self.room.dtype == torch.float32 else 4

    @functools.cached_property
    def work(self) -> float:
        """By which it is decided whether threads pay [ns]."""
        return 10.0 * self.frames * self.height * self.width + 100.0 * self.triangles

    def run(self, schedule: str, *args: Any) -> None:
        """Run a schedule, on threads if the whole picture is worth it."""
        self.program.run(schedule, *args, target=self.target, work=self.work)


@functools.lru_cache(maxsize=256)
def kept_numbers(room: Room, values: tuple[float, ...]) -> Any:
    """Numbers as an array that nobody writes to."""
    return room.numbers(values)


@functools.lru_cache(maxsize=32)
def pixel_centres(room: Room, height: int, width: int, kaolin: bool) -> tuple[Any, Any]:
    """x of columns and y of rows, for pictures filled up to whole tiles: [px] from the middle, or on Kaolin's plane."""
    j, i = np.arange(-(-width // TILE) * TILE), np.arange(-(-height // TILE) * TILE)
    if kaolin:
        return room.numbers((2 * j + 1 - width) / width), room.numbers((height - 1 - 2 * i) / height)
    return room.numbers(j + 0.5 - 0.5 * width), room.numbers(i + 0.5 - 0.5 * height)
