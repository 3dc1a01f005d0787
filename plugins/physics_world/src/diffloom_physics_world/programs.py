"""What the CUDA check compiles besides the example: links that touch bodies, triangles and each other, and are held."""

from __future__ import annotations

from functools import partial
from typing import Any

from diffloom.dynamics import Compiled
from diffloom.dynamics.force_kernels import force, force_adjoint
from diffloom.dynamics.programs import samples
from diffloom.interfaces import Control
from diffloom.kernels import Program
from diffloom.plugins import get_model, models
from diffloom_physics_world.model import World

PIPELINES = (force, force_adjoint)


def programs() -> list[Program]:
    """Forces of a world with links, and their transpose; none where a model of it is not installed."""
    if not {"articulated", "rigid", "cloth"} <= set(models()):
        return []
    world = linked_world()
    system = world.dynamics(world.params(), Control()).compiled
    return [Program("links", PIPELINES, partial(_samples, system))]


def linked_world() -> World:
    """Two arms, a box and a sheet, all of which touch; a spring between an arm and the box."""
    hand = {"name": "hand", "parent": "arm", "joint": "ball", "shapes": [{"shape": "sphere", "radius": 0.1}]}
    arm = {"name": "arm", "position": [0.0, 0.3, 0.0], "shapes": [{"shape": "capsule", "radius": 0.1, "length": 0.2}]}
    links = get_model("articulated")
    return World(
        {
            "left": links([{"links": [arm, hand]}], touches=True, self_contact=[["arm", "hand"]]),
            "right": links([{"links": [arm]}], touches=True),
            "box": get_model("rigid")([{"shape": "box", "size": 0.2}], ground=False),
            "sheet": get_model("cloth")({"shape": "grid", "cells": [1, 1], "size": [0.4, 0.4]}),
        },
        attachments=[{"name": "tie", "kind": "spring", "between": ["left", "box"], "points": ["hand", [0, 0, 0]]}],
    )


def _samples(system: Compiled, dtype: Any) -> dict[str, tuple[Any, ...]]:
    found = samples(system, dtype)
    return {pipeline.__name__: found[pipeline.__name__] for pipeline in PIPELINES}
