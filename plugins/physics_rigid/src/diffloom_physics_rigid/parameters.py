"""Parameters of a scene of rigid bodies, with the values from which the bodies start."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from diffloom.interfaces import ParamSpec
from diffloom_mechanics.contact import ContactLaw
from diffloom_physics_rigid.body_files import RigidBody
from diffloom_physics_rigid.contact_defaults import derive_contact, find_sides
from diffloom_physics_rigid.pushes import BodyPush

POSITIVE = (0.0, None)


def build_specs(law: ContactLaw, bodies: Sequence[RigidBody], pushes: Sequence[BodyPush]) -> tuple[ParamSpec, ...]:
    """Return every parameter of the model, with defaults from the bodies' tables and, for contact, from mass and
    size.
    """
    return (*build_motion_specs(bodies), *build_contact_specs(law, bodies), *build_push_specs(pushes))


def build_motion_specs(bodies: Sequence[RigidBody]) -> tuple[ParamSpec, ...]:
    """Return the parameters of the start and of mass and inertia."""

    def rows(key: str, otherwise: tuple[float, ...]) -> Tensor:
        return torch.tensor(np.array([body.start.get(key, otherwise) for body in bodies]), dtype=torch.float64)

    masses = torch.tensor([float(body.start["mass"]) for body in bodies], dtype=torch.float64)
    inertia: Tensor | None = None
    if any("inertia" in body.start for body in bodies):
        inertia = torch.tensor(np.array([resolve_inertia(body) for body in bodies]), dtype=torch.float64)
    zero = (0.0, 0.0, 0.0)
    centre: Tensor | None = None
    if any("centre_of_mass" in body.start for body in bodies):
        centre = rows("centre_of_mass", zero)
    return (
        ParamSpec("position", rows("position", zero), "m", "centre of mass at the start", ("bodies", 3)),
        ParamSpec("orientation", rows("orientation", (1.0, 0.0, 0.0, 0.0)), "", "start quaternion w, x, y, z, of any "
                  "length", ("bodies", 4)),
        ParamSpec("velocity", rows("velocity", zero), "m/s", "velocity of the centre at the start", ("bodies", 3)),
        ParamSpec("angular_velocity", rows("angular_velocity", zero), "rad/s", "at the start, about world axes",
                  ("bodies", 3)),
        ParamSpec("mass", masses, "kg", "mass; the inertia follows it unless given", ("bodies",), POSITIVE),
        ParamSpec("density", None, "kg/m^3", "instead of mass: density x volume", ("bodies",), POSITIVE),
        ParamSpec("inertia", inertia, "kg m^2", "instead of the inertia that follows from mass and shape: xx, yy, zz, "
                  "xy, xz, yz about the centre in the body's axes", ("bodies", 6)),
        ParamSpec("centre_of_mass", centre, "m", "from the centre of the solid shape to that of its mass, in the "
                  "body's axes; the inertia is about the latter", ("bodies", 3)),
        ParamSpec("gravity", (0.0, -9.81, 0.0), "m/s^2", "acceleration of free fall", (3,)),
    )  # fmt: skip


def resolve_inertia(body: RigidBody) -> list[float]:
    """Return the inertia in a body's table, or the one that follows from its mass and shape."""
    if "inertia" in body.start:
        return [float(n) for n in body.start["inertia"]]
    tied = body.inertia * (float(body.start["mass"]) / body.volume)
    return [float(tied[a, b]) for a, b in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))]


def build_contact_specs(law: ContactLaw, bodies: Sequence[RigidBody]) -> tuple[ParamSpec, ...]:
    """Return the contact parameters of each body; values that its table leaves open follow from its mass and size."""
    found = [
        derive_contact(law, float(b.start["mass"]), b.reach, len(find_sides(b.points, b.roundness)[0]), b.start)
        for b in bodies
    ]

    def column(key: str) -> Tensor:
        return torch.tensor([values[key] for values in found], dtype=torch.float64)

    return (
        *(replace(spec, default=column(spec.name), shape=("bodies",)) for spec in law.specs),
        *(replace(spec, shape=("bodies",)) for spec in law.extra_specs),
        ParamSpec("static_sag", None, "m", "instead of contact_stiffness: how deep a body at rest on its largest side "
                  "sinks in, m g / (n k_e)", ("bodies",), (1e-9, None), replaces="contact_stiffness"),
        ParamSpec("ground_height", 0.0, "m", "offset of the ground plane along its normal"),
        ParamSpec("ground_normal", (0.0, 1.0, 0.0), "", "normal of the ground plane, of any length", (3,)),
    )  # fmt: skip


def build_push_specs(pushes: Sequence[BodyPush]) -> tuple[ParamSpec, ...]:
    """Return force and point of each push; no parameters without pushes."""
    if not pushes:
        return ()
    force = torch.tensor(np.array([p.force for p in pushes]), dtype=torch.float64)
    point = torch.tensor(np.array([p.point for p in pushes]), dtype=torch.float64)
    return (
        ParamSpec("push_force", force, "N", "force of each push while it acts", ("pushes", 3)),
        ParamSpec("push_point", point, "m", "where each push acts, from the centre in the body's axes", ("pushes", 3)),
    )
