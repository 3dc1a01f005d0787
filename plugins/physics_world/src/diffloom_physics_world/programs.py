"""What the CUDA check compiles of worlds besides their example."""

from __future__ import annotations

from diffloom.dynamics.programs import sampled
from diffloom.kernels import Program
from diffloom.plugins import get_model

from .model import World


def programs() -> list[Program]:
    """Bodies that touch in every way that there is: rigid ones each other, particles, triangles and their corners."""
    rigid, cloth, fem = map(get_model, ("rigid", "cloth", "fem"))
    bodies = {
        "ball": rigid([{"shape": "sphere", "radius": 0.1, "position": [0.0, 0.3, 0.0]}], ground=False),
        "box": rigid([{"shape": "box", "size": [0.1, 0.1, 0.1], "position": [0.0, 0.1, 0.0]}], ground=False),
        "sheet": cloth({"shape": "grid", "cells": [2, 2], "size": [0.4, 0.4]}),
        "jelly": fem("box", size=(0.2, 0.1, 0.2), cells=(1, 1, 1), ground=False),
    }
    law = {"law": "hunt_crossley", "friction": "smooth"}
    found = [sampled(World(bodies, contact=law), "world_pairs")]
    return [program for program in found if program is not None]
