"""Everything about a draw that is known before the first point is: the layout of images, and the rules."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, NamedTuple

from diffloom_kernels import Arena, Bound
from diffloom_raster import Layout
from diffloom_raster.records import Falloff

from .programs import PROGRAMS
from .records import Guard, Rules, Setup

#: Pixels of a triangle that one work item interpolates and passes back, at most: on a CPU, on CUDA.
CHUNK = {"cpu": 1024, "cuda": 32}


class Settings(NamedTuple):
    """How pixels are decided.

    kaolin: by Kaolin's rules on its plane [-1, 1]^2, else by ours on pixels. soft: whether the soft mask is wanted.
    sharpness, reach: of the mask, in units of that plane or of pixels. most: triangles that count in it. cull: leave
    out triangles seen from behind (ours only). multiplier, eps: see kaolin_weight_kernels.py.
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
class Plan:
    """setup: what kernels are told besides arrays that depend on the scene."""

    layout: Layout
    settings: Settings
    setup: Bound

    @property
    def arena(self) -> Arena:
        """Where arrays are."""
        return self.layout.arena

    def run(self, pipeline: str, *args: Any) -> None:
        """Run a pipeline, on threads if the whole image is worth it."""
        self.layout.run(PROGRAMS[self.settings.kaolin], pipeline, *args)


@functools.lru_cache(maxsize=32)
def plan_of(layout: Layout, settings: Settings) -> Plan:
    """The plan of a layout; kept."""
    falloff = Falloff(settings.sharpness, settings.reach if settings.soft else 0.0, settings.most)
    rules = Rules(settings.kaolin, Guard(settings.multiplier, settings.eps))
    length = CHUNK["cuda" if layout.on_cuda else "cpu"]
    return Plan(
        layout, settings, Bound(Setup(rules, layout.bound.record, falloff, int(settings.cull), length, layout.lanes))
    )
