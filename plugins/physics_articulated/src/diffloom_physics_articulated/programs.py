"""Programs of articulated bodies that the CUDA check compiles besides their example."""

from __future__ import annotations

from diffloom_kernels import Program
from diffloom_mechanics import build_sample_program

from .model import ArticulatedModel

#: Register spills on sm_90, the second with numba-cuda-mlir; approximate quotients would save registers, not digits.
WHY = "one thread takes a tree's joints and contact back, with exact quotients"
SPILLS = {"rate_adjoint": WHY, "move_node_adjoint": WHY}


def programs() -> list[Program]:
    """Return a program of links that touch the ground under smooth friction."""
    body = {"name": "body", "joint": "free", "start": [0.0, 0.06, 0.0], "shapes": [{"shape": "box", "size": [0.2] * 3}]}
    arm = {"name": "arm", "parent": "body", "length": 0.3, "shapes": [{"shape": "capsule", "radius": 0.03}]}
    law = {"law": "hunt_crossley", "friction": "smooth"}
    model = ArticulatedModel([{"links": [body, arm]}], ground=True, contact=law)
    found = [build_sample_program(model, "articulated_contact", spills=SPILLS)]
    return [program for program in found if program is not None]
