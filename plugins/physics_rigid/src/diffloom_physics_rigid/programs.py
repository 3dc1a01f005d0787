"""Programs of rigid bodies that the CUDA check compiles besides their example."""

from __future__ import annotations

from diffloom_kernels import Program
from diffloom_mechanics import build_sample_program

from .model import RigidModel


def programs() -> list[Program]:
    """Return a program with round edges and smooth friction that turns and rolls, between bodies and the ground."""
    box = {"shape": "box", "size": [0.3, 0.2, 0.3], "position": [0.0, 0.1, 0.0], "rounding": 0.02}
    ball = {"shape": "sphere", "radius": 0.1, "position": [0.0, 0.3, 0.0]}
    law = {"law": "hunt_crossley", "friction": {"law": "smooth", "turning": True}}
    found = [build_sample_program(RigidModel([box, ball], contact=law), "rigid_smooth_friction")]
    return [program for program in found if program is not None]
