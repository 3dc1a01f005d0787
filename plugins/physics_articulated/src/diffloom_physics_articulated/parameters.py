"""Parameters of a scene of trees, with the values from which the links start."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from diffloom.interfaces import ParamSpec
from diffloom_physics_articulated.link import DEFAULTS, VELOCITIES, Link

POSITIVE = (0.0, None)
PASSIVE = (
    "stiffness", "rest_position", "damping", "dry_friction", "friction_speed", "lower_limit", "upper_limit",
    "limit_stiffness", "limit_damping", "servo_stiffness", "servo_damping",
)  # fmt: skip
"""Parameters for each velocity, in the order of the kernels."""
COMMANDS = ("torque", "target_position", "target_velocity")


def build_specs(links: Sequence[Link]) -> tuple[ParamSpec, ...]:
    """Return every parameter of the model."""
    return (*build_link_specs(links), *build_joint_specs(links), *build_start_specs(links))


def rows(values: Sequence[object]) -> Tensor:
    """Return the numbers of all links as one tensor."""
    return torch.tensor(np.array(values), dtype=torch.float64)


def build_link_specs(links: Sequence[Link]) -> tuple[ParamSpec, ...]:
    """Return the parameters of mass, shape and joint positions of the links."""
    each = ("links",)
    return (
        ParamSpec("mass", rows([x.mass for x in links]), "kg", "mass of each link", each, POSITIVE),
        ParamSpec("centre_of_mass", rows([x.centre for x in links]), "m", "in the link's axes", ("links", 3)),
        ParamSpec("inertia", rows([x.inertia for x in links]), "kg m^2", "xx yy zz xy xz yz about the centre of mass, "
                  "in the link's axes", ("links", 6)),
        ParamSpec("log_inertia", None, "", "ten numbers in place of mass, centre_of_mass and inertia, any of which "
                  "make a body that can exist (log-Cholesky)", ("links", 10)),
        ParamSpec("length", rows([x.length for x in links]), "m", "of links that stretch along their bone", each,
                  (1e-6, None)),
        ParamSpec("frame_position", rows([x.position for x in links]), "m", "of each link's joint, in the parent's "
                  "axes", ("links", 3)),
        ParamSpec("frame_orientation", rows([x.orientation for x in links]), "", "of each link's joint, quaternion w, "
                  "x, y, z of any length", ("links", 4)),
        ParamSpec("gravity", (0.0, -9.81, 0.0), "m/s^2", "acceleration of free fall", (3,)),
    )  # fmt: skip


def build_joint_specs(links: Sequence[Link]) -> tuple[ParamSpec, ...]:
    """Return the parameters for each velocity of each joint; units are those of a revolute joint, with m for rad in
    prismatic.
    """
    each = ("dofs",)

    def column(key: str) -> Tensor:
        return collect_velocities(links, key)

    return (
        ParamSpec("armature", column("armature"), "kg m^2", "inertia of the motor, as the joint feels it", each,
                  POSITIVE),
        ParamSpec("stiffness", column("stiffness"), "N m/rad", "of a spring in the joint", each, POSITIVE),
        ParamSpec("rest_position", column("rest"), "rad", "where the spring is at rest", each),
        ParamSpec("damping", column("damping"), "N m s/rad", "torque per rate", each, POSITIVE),
        ParamSpec("dry_friction", column("friction"), "N m", "torque of dry friction while the joint moves", each,
                  POSITIVE),
        ParamSpec("friction_speed", column("friction_speed"), "rad/s", "rate at which dry friction sets in", each,
                  (1e-6, None)),
        ParamSpec("lower_limit", column("lower"), "rad", "where the joint's range begins", each),
        ParamSpec("upper_limit", column("upper"), "rad", "where the joint's range ends", each),
        ParamSpec("limit_stiffness", column("limit_stiffness"), "N m/rad", "torque per depth beyond a limit; 0: none",
                  each, POSITIVE),
        ParamSpec("limit_damping", column("limit_damping"), "s/rad", "share by which the torque of a limit grows per "
                  "closing rate", each, POSITIVE),
        ParamSpec("servo_stiffness", column("servo_stiffness"), "N m/rad", "torque of the servo per way to the target",
                  each, POSITIVE),
        ParamSpec("servo_damping", column("servo_damping"), "N m s/rad", "torque of the servo per rate to the target's",
                  each, POSITIVE),
        ParamSpec("torque", column("torque"), "N m", "of the motor", each, per_step=True),
        ParamSpec("target_position", column("target_position"), "rad", "where the servo drives the joint", each,
                  per_step=True),
        ParamSpec("target_velocity", column("target_velocity"), "rad/s", "how fast the servo drives the joint", each,
                  per_step=True),
    )  # fmt: skip


def build_start_specs(links: Sequence[Link]) -> tuple[ParamSpec, ...]:
    """Return the coordinates and velocities at the start."""
    coordinates = np.concatenate([np.zeros(0), *(link.coordinates for link in links)])
    turns = [link.turn for link in links if link.joint in ("ball", "free")]
    return (
        ParamSpec("joint_position", torch.tensor(coordinates), "rad", "scalar coordinates at the start; m in prismatic "
                  "joints", ("scalars",)),
        ParamSpec("joint_orientation", rows(turns).reshape(-1, 4), "", "of ball joints at the start, quaternion w, x, "
                  "y, z of any length", ("balls", 4)),
        ParamSpec("joint_velocity", collect_velocities(links, "velocity"), "rad/s", "at the start; m/s in prismatic "
                  "joints, angular velocity in the link's axes in balls", ("dofs",)),
    )  # fmt: skip


def collect_velocities(links: Sequence[Link], key: str) -> Tensor:
    """Return the values (dofs,) of all joints."""
    parts = [link.values.get(key, np.full(VELOCITIES[link.joint], DEFAULTS[key])) for link in links]
    return torch.tensor(np.concatenate([np.zeros(0), *parts]))
