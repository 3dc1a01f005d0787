"""Device functions of mechanics, for the kernels of physics plugins, and the pipelines of forces."""

from diffloom_mechanics.force_kernels import force, force_adjoint
from diffloom_mechanics.particle_kernels import window_share
from diffloom_mechanics.rotation_kernels import half_turn, quat_exp, quat_exp_adjoint

__all__ = [
    "force",
    "force_adjoint",
    "half_turn",
    "quat_exp",
    "quat_exp_adjoint",
    "window_share",
]
