"""Programs of worlds that the CUDA check compiles besides their example."""

from __future__ import annotations

from diffloom.plugins import get_model, models
from diffloom_kernels import Program
from diffloom_mechanics import build_sample_program
from diffloom_mechanics.kernels import force, force_adjoint

from .model import World

#: Register spills: one kernel gathers a body's cotangents of all kinds of contact, because a kernel for each kind would
#: pass over memory once more.
SPILLS = {"store_cotangent": "a body gathers the cotangents of six kinds of contact at once"}


def programs() -> list[Program]:
    """Return worlds with every kind of contact between bodies, and with links; none if one of their models is
    missing.
    """
    found = []
    if {"rigid", "cloth", "fem"} <= set(models()):
        found.append(build_sample_program(build_touching_world(), "world_pairs"))
    if {"articulated", "rigid", "cloth"} <= set(models()):
        found.append(build_sample_program(build_linked_world(), "links", (force, force_adjoint), SPILLS))
    return [program for program in found if program is not None]


def build_touching_world() -> World:
    """Return rigid bodies that touch each other, particles, triangles and their corners."""
    rigid, cloth, fem = map(get_model, ("rigid", "cloth", "fem"))
    bodies = {
        "ball": rigid([{"shape": "sphere", "radius": 0.1, "position": [0.0, 0.3, 0.0]}], ground=False),
        "box": rigid([{"shape": "box", "size": [0.1, 0.1, 0.1], "position": [0.0, 0.1, 0.0]}], ground=False),
        "sheet": cloth({"shape": "grid", "cells": [2, 2], "size": [0.4, 0.4]}),
        "jelly": fem("box", size=(0.2, 0.1, 0.2), cells=(1, 1, 1), ground=False),
    }
    return World(bodies, contact={"law": "hunt_crossley", "friction": "smooth"})


def build_linked_world() -> World:
    """Return two arms, a box and a sheet, all in contact, and a spring between an arm and the box."""
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
