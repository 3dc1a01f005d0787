"""External forces on particles, such as controls."""

from __future__ import annotations

from torch import Tensor

from diffloom.validation import check_shape
from diffloom_mechanics.terms import NodeTerm


def applied(force: Tensor, name: str = "applied", on: str | None = None) -> NodeTerm:
    """force: (1 or steps, particles, 3) [N], differentiable. on: the node set, where there are several."""
    check_shape("force", force, ("1 or steps", "particles", 3))
    from diffloom_mechanics.applied_kernels import applied_force, applied_force_adjoint

    return NodeTerm(
        name, force=applied_force, adjoint=applied_force_adjoint, params=(("force", force),), per_step=("force",), on=on
    )
