"""Pendulums as nodes of one coordinate, and the torque on them as a term."""

from __future__ import annotations

from torch import Tensor

from diffloom_mechanics import NodeSet, NodeTerm


def pendulums(inertia: Tensor) -> NodeSet:
    """Nodes that turn about a fixed axis: q is the angle [rad], u its rate [rad/s], a force is a torque [N m].

    inertia: (nodes,) [kg m^2].
    """
    # Imported here, so that numba is loaded when something runs and not when plugins are listed.
    from loom_pendulum.kernels import angular_acceleration, angular_acceleration_adjoint

    return NodeSet(
        "pendulums",
        dq=1,
        du=1,
        acceleration=angular_acceleration,
        acceleration_adjoint=angular_acceleration_adjoint,
        arrays=(("inertia", inertia),),
        force_needed_by=("inertia",),
    )


def swing(weight: Tensor, damping: Tensor, torque: Tensor) -> NodeTerm:
    """Torques on a pendulum: its weight, friction in the bearing and a motor.

    weight: m g L, (nodes,) [N m]. damping: (nodes,) [N m s/rad]. torque: (1 or steps, nodes) [N m].
    """
    from loom_pendulum.kernels import pendulum_torque, pendulum_torque_adjoint

    return NodeTerm(
        "swing",
        force=pendulum_torque,
        adjoint=pendulum_torque_adjoint,
        params=(("weight", weight), ("damping", damping), ("torque", torque)),
        per_step=("torque",),
    )
