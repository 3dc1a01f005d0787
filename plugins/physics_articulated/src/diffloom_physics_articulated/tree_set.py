"""Node set of trees, one row of coordinates each, and the term of the forces in their joints."""

from __future__ import annotations

import torch
from torch import Tensor

from diffloom_mechanics import NodeMotion, NodeSet, NodeTerm
from diffloom_physics_articulated.layout import TreeLayout


def build_tree_set(layout: TreeLayout, frame: Tensor, inertia: Tensor, armature: Tensor, gravity: Tensor) -> NodeSet:
    """Return trees as nodes.

    Args:
        layout: Layout of the trees.
        frame: Joints in their parents' axes (trees, rows, 7).
        inertia: Mass, first and second moments about the links' origins (trees, rows, 10).
        armature: Armature (trees, du) [kg m^2].
        gravity: Acceleration (trees, 3) [m/s^2].
    """
    from diffloom_physics_articulated import tree_set_kernels as kernels

    count, like = layout.trees, frame
    acceleration, acceleration_adjoint = kernels.tree_functions(layout.balls, layout.scalars, layout.rows)

    def workspace(width: int) -> Tensor:
        """Return memory for the recursions, a row for each tree."""
        return torch.zeros((count, width), dtype=like.dtype, device=like.device)

    arrays = (
        # Integers as floats, because node sets take arrays of one precision.
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


def build_joint_term(layout: TreeLayout, joint: Tensor, command: Tensor) -> NodeTerm:
    """Return the term of springs, damping, friction, limits and motors.

    Args:
        layout: Layout of the trees.
        joint: Passive values (trees, du, 11).
        command: Commands of the motors (1 or steps, trees, du, 3).
    """
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
