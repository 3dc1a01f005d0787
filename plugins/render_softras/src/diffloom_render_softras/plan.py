"""Everything about a picture that is known before the first vertex is: sizes, softness, topology."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numba
import numpy as np
import torch

from diffloom.shading.arrays import Room
from diffloom.shading.kernels.tiles import TILE
from diffloom.shading.topology import Corners

from .programs import program

#: Twice the area under which a triangle is left out, where the picture's short side spans 2.
SMALLEST_AREA = 1e-8


class Runner(Protocol):
    """What runs schedules: the program, or what stands in for it."""

    def run(self, schedule: str, *args: Any, target: str) -> Any:
        """Run a schedule by name."""


@dataclass(frozen=True)
class Softness:
    """How faces blur, in pixels.

    sharpness: 1 / sigma [1/px^2]. reach: how far a face acts outside its outline [px]. gamma: sharpness in depth,
    relative to far - near. most: the number of nearest faces that count, 0 for all.
    """

    sharpness: float
    reach: float
    gamma: float
    most: int
    cull: bool
    perspective: bool


@dataclass(frozen=True)
class Plan:
    """What the kernels are told besides arrays that depend on the scene; kept from call to call.

    frames: pictures. count: points in a frame. corners: the topology, repeated in every frame unless triangles were
    cut: then of all frames. hidden: (triangles,) if cut, else empty. frame_start: (frames + 1,) triangles.
    """

    room: Room
    frames: int
    count: int
    corners: Corners
    cut: bool
    hidden: Any
    frame_start: Any
    height: int
    width: int
    near: float
    far: float
    soft: Softness
    target: str
    program: Runner = field(default=program, repr=False)

    @cached_property
    def triangles(self) -> int:
        """Of all frames."""
        faces = int(self.corners.index.shape[0])
        return faces if self.cut else faces * self.frames

    @cached_property
    def grid(self) -> tuple[int, int]:
        """Tiles across and down."""
        return -(-self.width // TILE), -(-self.height // TILE)

    @cached_property
    def middle(self) -> tuple[float, float]:
        """Half width and half height [px]."""
        return 0.5 * self.width, 0.5 * self.height

    @cached_property
    def padded(self) -> tuple[int, int, int]:
        """Frames, height and width of pictures made of whole tiles."""
        across, down = self.grid
        return self.frames, TILE * down, TILE * across

    @cached_property
    def bands(self) -> int:
        """Parts of a frame whose tiles are sorted at the same time."""
        if not self.room.on_host:
            return self.grid[1]
        return 1 if self.frames >= 4 else min(4, self.grid[1])

    @cached_property
    def parts(self) -> int:
        """Stripes of pixels that an entry's adjoint is made of: TILE columns over the lanes of a run."""
        if not self.room.on_host or self.target == "cuda" or numba.config.DISABLE_JIT:
            return TILE
        return max(1, TILE * np.dtype(np.float32 if self.room.dtype == torch.float32 else np.float64).itemsize // 32)

    @cached_property
    def mesh(self) -> tuple[Any, ...]:
        period = self.count * self.frames if self.cut else self.count
        return period, self.corners.index, self.hidden, self.frame_start

    @cached_property
    def view(self) -> tuple[Any, ...]:
        columns, rows = pixel_centres(self.room, self.height, self.width)
        return (*self.grid, columns, rows)

    @cached_property
    def blur(self) -> tuple[float, float]:
        """What kernels call soft."""
        return self.soft.sharpness, self.soft.reach**2

    @cached_property
    def least_area(self) -> float:
        """Twice the area [px^2] under which a triangle is left out."""
        return SMALLEST_AREA * (0.5 * min(self.height, self.width)) ** 2

    @cached_property
    def full(self) -> float:
        """1 / (1 - alpha) from which alpha is 1 to the last bit."""
        return 4.0 / self._epsilon

    @cached_property
    def fade(self) -> tuple[float, ...]:
        """What kernels call fade. A face is passed over when its weight is less than an eighth of a last bit of the
        nearest face's, whose probability is at least that at the edge of its reach."""
        span = self.far - self.near
        least = -self.soft.sharpness * self.soft.reach**2
        cut = math.log(self._epsilon / 8.0) + min(least, 0.0) - math.log(2.0)
        return 1.0 / (self.soft.gamma * span), cut, self.far, span, self.soft.gamma

    @cached_property
    def _epsilon(self) -> float:
        return float(torch.finfo(self.room.dtype).eps)


@functools.lru_cache(maxsize=16)
def pixel_centres(room: Room, height: int, width: int) -> tuple[Any, Any]:
    """x of columns and y of rows [px] from the middle, for pictures padded to whole tiles."""
    down, across = -(-height // TILE) * TILE, -(-width // TILE) * TILE
    columns = np.arange(across) + 0.5 - 0.5 * width
    rows = np.arange(down) + 0.5 - 0.5 * height
    return room.numbers(columns), room.numbers(rows)
