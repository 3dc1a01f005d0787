"""What the program is given when a tiny scene is drawn and pulled back, recorded instead of run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from diffloom.shading.arrays import Room
from diffloom.shading.topology import Corners

from .adjoint import Wants, pull_back
from .drawing import Colouring, Features, Source, paint, see
from .plan import Plan, Rules


@dataclass
class Recorder:
    """Stands in for the program: notes what it is given and leaves zeros, so that whatever follows is small."""

    given: dict[str, tuple[Any, ...]] = field(default_factory=dict)

    def run(self, schedule: str, *args: Any, target: str, work: float) -> None:
        """Note the arguments of a schedule."""
        _clear(args)
        self.given[schedule] = args


def _clear(value: Any) -> None:
    if isinstance(value, tuple):
        for entry in value:
            _clear(entry)
    elif isinstance(value, np.ndarray):
        value.fill(0)


def recorded_arguments(dtype: Any) -> dict[str, tuple[Any, ...]]:
    """By schedule, in float32 or float64."""
    recorder = Recorder()
    kind = torch.float64 if np.dtype(dtype) == np.float64 else torch.float32
    for kaolin in (False, True):
        _draw(recorder, Room(torch.device("cpu"), kind), kaolin)
    return recorder.given


def _draw(recorder: Recorder, room: Room, kaolin: bool) -> None:
    index = np.arange(3, dtype=np.int32)
    corners = Corners(index.reshape(1, 3), np.arange(4, dtype=np.int32), index)
    rules = Rules(kaolin, True, 7000.0, 0.02, 30)
    none, start = room.flags(0), np.array([0, 1], np.int32)
    plan = Plan(room, rules, 1, 3, corners, False, start, 8, 8, none, none, room.ints(0), 0.0, "cuda", program=recorder)
    camera = room.floats(1, 3, 3), room.floats(1, 3), room.floats(2), room.floats(2)
    source = Source(camera, room.floats(3, 3), room.floats(3, 3, fill=1.0), True)
    features = Features(room.floats(3, 6), room.floats(3, 3), corners)
    light = (
        room.floats(1, 3), room.ints(0), room.floats(3), room.ints(1), room.floats(1, 9), room.floats(9, 3),
        room.floats(1),
    )  # fmt: skip
    colouring = Colouring(1, (2, 1, 1, 1, room.floats(2, 2, 3)), light)
    seen = see(plan, source)
    painted = paint(plan, source, seen, features, colouring, (0.0, 0.0, 0.0), 100.0)
    adj_planes, adj_depths = room.floats(1, 4 * 64), room.floats(1, 64)
    wants = Wants(camera=True, eye=True, lights=True, texture=True)
    pull_back(plan, source, seen, painted, features, colouring, wants, adj_planes, adj_depths, soft=True)
