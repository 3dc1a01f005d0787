"""Everything about a draw that is known before the first vertex is: the layout of images, and how soft they are."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch

from diffloom_kernels import Bound, num_threads
from diffloom_raster import Layout

from .programs import program
from .records import Blur, Fade, Rules, Setup

#: Twice the area under which a triangle is left out, where the image's short side spans 2.
SMALLEST_AREA = 1e-8


class Softness(NamedTuple):
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


@dataclass(frozen=True, eq=False)
class Plan:
    """setup: what kernels are told besides arrays that depend on the scene. most: faces that count, 0 for all."""

    layout: Layout
    setup: Bound
    far: float
    most: int

    def run(self, pipeline: str, *args: Any, small: bool = False) -> None:
        """Run a pipeline: with threads wherever there are several, so that code is compiled once only; ``small``: on
        one, whatever there are."""
        target = self.layout.target
        if target == "auto" and self.layout.arena.on_host:
            target = "parallel" if num_threads() > 1 else "serial"
        program.run(pipeline, *args, target="serial" if small and target == "parallel" else target)


@functools.lru_cache(maxsize=32)
def plan_of(layout: Layout, soft: Softness, far: float) -> Plan:
    """The plan of a layout; kept."""
    epsilon, span = float(torch.finfo(layout.arena.dtype).eps), far - layout.near
    least_area = SMALLEST_AREA * (0.5 * min(layout.height, layout.width)) ** 2
    rules = Rules(int(soft.cull), int(soft.perspective), soft.reach, least_area)
    # A face is passed over when its weight is less than an eighth of a last bit of the nearest face's, whose
    # probability is at least that at the edge of its reach.
    cut = math.log(epsilon / 8.0) + min(-soft.sharpness * soft.reach**2, 0.0) - math.log(2.0)
    blur = Blur(soft.sharpness, soft.reach**2, soft.most, 4.0 / epsilon)
    fade = Fade(1.0 / (soft.gamma * span), cut, far, span, soft.gamma)
    return Plan(layout, Bound(Setup(layout.bound.record, rules, blur, fade)), far, soft.most)
