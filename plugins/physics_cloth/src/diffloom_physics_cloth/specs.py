"""Parameters of a thin shell: names, units, defaults."""

from __future__ import annotations

from dataclasses import replace

from diffloom.interfaces import ParamSpec
from diffloom_mechanics.contact import ContactLaw, make_contact_specs

NOT_NEGATIVE = (0.0, None)


def build_turning_specs() -> tuple[ParamSpec, ...]:
    """Return the parameters of the start's orientation and rotation, which planar shells do not have."""
    return (
        ParamSpec("orientation", (1.0, 0.0, 0.0, 0.0), "", "turn about the mesh's origin: quaternion w x y z of any "
                  "length", shape=(4,)),
        ParamSpec("angular_velocity", (0.0, 0.0, 0.0), "rad/s", "at the start, about the centre of mass", shape=(3,)),
    )  # fmt: skip


def build_motion_specs() -> tuple[ParamSpec, ...]:
    """Return the parameters of start, mass and shape."""
    points = ("particles", 3)
    return (
        ParamSpec("position", (0.0, 0.0, 0.0), "m", "where the mesh's origin is at the start", shape=(3,)),
        ParamSpec("velocity", (0.0, 0.0, 0.0), "m/s", "at the start, for all or for each particle", shape=points),
        ParamSpec("start_shape", None, "m", "vertices before turn and shift; the mesh's own if not given",
                  shape=points),
        ParamSpec("rest_shape", None, "m", "vertices without elastic force; the mesh's own if not given", shape=points),
        ParamSpec("density", 0.2, "kg/m^2", "mass per area", shape=("faces",), bounds=NOT_NEGATIVE),
        ParamSpec("mass", None, "kg", "mass of each particle, instead of density; 0 holds it", shape=("particles",),
                  bounds=NOT_NEGATIVE),
        ParamSpec("gravity", (0.0, -9.81, 0.0), "m/s^2", "acceleration of free fall", shape=(3,)),
    )  # fmt: skip


def build_face_specs(air: bool) -> tuple[ParamSpec, ...]:
    """Return the parameters of in-plane elasticity and, with air, of drag and lift."""
    faces = ("faces",)
    elastic = (
        ParamSpec("shear_modulus", 250.0, "N/m", "resistance to shear (mu)", shape=faces, bounds=NOT_NEGATIVE),
        ParamSpec("lame_modulus", 250.0, "N/m", "resistance to change of area (lam)", shape=faces, bounds=NOT_NEGATIVE),
        ParamSpec("damping", 0.05, "N s/m", "in-plane viscosity", shape=faces, bounds=NOT_NEGATIVE),
        ParamSpec("activation", 0.0, "", "growth of the rest area, as a fraction", shape=faces, per_step=True),
    )
    if not air:
        return elastic
    return (
        *elastic,
        ParamSpec("drag", None, "kg/m^3", "drag: half of air's density times C_d", shape=faces, bounds=NOT_NEGATIVE),
        ParamSpec("lift", None, "kg/m^3", "lift: half of air's density times C_l", shape=faces, bounds=NOT_NEGATIVE),
        ParamSpec("wind", 0.0, "m/s", "velocity of the air around each face", shape=("faces", 3), per_step=True),
    )


def build_hinge_specs() -> tuple[ParamSpec, ...]:
    """Return the parameters of bending."""
    hinges = ("hinges",)
    return (
        ParamSpec("bending_stiffness", 1e-4, "N m", "flexural rigidity (k_b)", shape=hinges, bounds=NOT_NEGATIVE),
        ParamSpec("bending_damping", 1e-6, "N m s", "resistance to the rate of bending", shape=hinges,
                  bounds=NOT_NEGATIVE),
        ParamSpec("rest_angle", None, "rad", "dihedral angle at rest; that of the rest shape if not given",
                  shape=hinges),
        ParamSpec("bending_activation", 0.0, "rad", "added to the dihedral angle", shape=hinges, per_step=True),
    )  # fmt: skip


def build_anchor_specs() -> tuple[ParamSpec, ...]:
    """Return the parameters of springs to points in space."""
    anchors = ("anchors",)
    return (
        ParamSpec("anchor_stiffness", 1e3, "N/m", "pull per distance from the anchor", shape=anchors,
                  bounds=NOT_NEGATIVE),
        ParamSpec("anchor_damping", 0.1, "N s/m", "pull per speed", shape=anchors, bounds=NOT_NEGATIVE),
        ParamSpec("anchor_place", None, "m", "where the anchors are; where their particles start if not given",
                  shape=("anchors", 3)),
    )  # fmt: skip


def build_spring_specs() -> tuple[ParamSpec, ...]:
    """Return the parameters of springs between two particles of the shell."""
    springs = ("springs",)
    return (
        ParamSpec("spring_stiffness", 100.0, "N/m", "tension per elongation", shape=springs, bounds=NOT_NEGATIVE),
        ParamSpec("spring_damping", 0.1, "N s/m", "tension per rate of elongation", shape=springs, bounds=NOT_NEGATIVE),
        ParamSpec("spring_length", None, "m", "length at rest; that in the rest shape if not given", shape=springs,
                  bounds=NOT_NEGATIVE),
    )  # fmt: skip


def build_ground_specs(law: ContactLaw) -> tuple[ParamSpec, ...]:
    """Return the parameters of contact with the ground, with defaults for particles of a gram."""
    values = {"contact_stiffness": 1e3, "contact_damping": 0.5, "friction_stiffness": 0.5}
    return make_contact_specs(law, **{name: value for name, value in values.items() if name in law.names})


def name_collision_parameter(name: str) -> str:
    """Return the name of a parameter of the law in contact of the shell with itself."""
    return name.replace("contact_", "collision_", 1) if name.startswith("contact_") else f"collision_{name}"


def build_collision_specs(law: ContactLaw, *, friction: bool) -> tuple[ParamSpec, ...]:
    """Return the parameters of contact of the shell with itself, one value per particle, with or without friction."""
    values = {"contact_stiffness": 500.0, "contact_damping": 0.1, "friction_stiffness": 0.5}
    return tuple(
        replace(
            spec,
            name=name_collision_parameter(spec.name),
            default=values.get(spec.name, spec.default),
            doc=f"{spec.doc}, of the shell with itself",
            shape=("particles",),
            not_to_be_confused=tuple((name_collision_parameter(other), why) for other, why in spec.not_to_be_confused),
        )
        for spec in (law.specs if friction else law.normal_specs)
    )
