"""Trees of links as nodes of one coordinate row each, and the forces in their joints as a term."""

from __future__ import annotations

import torch
from torch import Tensor

from diffloom_mechanics import NodeMotion, NodeSet, NodeTerm
from diffloom_physics_articulated.layout import TreeLayout


def trees(layout: TreeLayout, frame: Tensor, inertia: Tensor, armature: Tensor, gravity: Tensor) -> NodeSet:
    """Trees as nodes.

    frame: (trees, rows, 7) joints in their parents' axes; inertia: (trees, rows, 10) mass, first and second moments
    about the links' origins; armature: (trees, du) [kg m^2]; gravity: (trees, 3) [m/s^2].
    """
    from diffloom_physics_articulated import tree_set_kernels as kernels

    count, like = layout.trees, frame
    acceleration, acceleration_adjoint = kernels.tree_functions(layout.balls, layout.scalars, layout.rows)

    def workspace(width: int) -> Tensor:
        """Memory for one tree's recursion. Node sets have no workspaces of their own; every tree uses its row only."""
        return torch.zeros((count, width), dtype=like.dtype, device=like.device)

    arrays = (
        # Whole numbers as floats: node sets take arrays of one precision.
        ("layout", torch.from_numpy(layout.table).to(like)),
        ("frame", frame.reshape(count, -1)),
        ("inertia", inertia.reshape(count, -1)),
        ("armature", armature),
        ("gravity", gravity),
        ("coordinates", workspace(layout.dq)),
        ("velocities", workspace(layout.du)),
        ("workspace", workspace(kernels.space_width(layout.balls, layout.scalars, layout.rows))),
    )
    motion = NodeMotion(*kernels.motion_functions(layout.balls, layout.scalars)) if layout.balls else None
    return NodeSet(
        "trees",
        layout.dq,
        layout.du,
        acceleration,
        acceleration_adjoint,
        arrays,
        motion,
        lanes=True,
        shared=("layout",),
    )


def joint_forces(layout: TreeLayout, joint: Tensor, command: Tensor) -> NodeTerm:
    """Springs, damping, friction, limits and motors. joint: (trees, du, 11); command: (1 or steps, trees, du, 3)."""
    from diffloom_physics_articulated.joint_kernels import joint_functions

    force, adjoint = joint_functions(layout.balls, layout.scalars)
    return NodeTerm(
        "joints",
        force=force,
        adjoint=adjoint,
        params=(("joint", joint), ("command", command)),
        per_step=("command",),
        work=(((layout.trees, layout.du + layout.dq), "float"),),
        by_node=True,
        lanes=True,
    )
