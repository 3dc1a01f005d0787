"""The model "cloth": a thin shell of triangles."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from diffloom.fixed_order import broadcast, broadcast_read_only
from diffloom.interfaces import (
    Control,
    ExampleSettings,
    ImpactSettings,
    InputError,
    Model,
    Params,
    ParamSpec,
    State,
    Stress,
    Surface,
    Texture,
    Trajectory,
)
from diffloom.transforms import suspend_transforms
from diffloom_geometry import Indices, take
from diffloom_mechanics import Mechanics, Term, freeze_array, particles, springs, suggest_explicit_step
from diffloom_mechanics.contact import TouchingSkin, ground, resolve_contact_law
from diffloom_physics_cloth import specs
from diffloom_physics_cloth.meshes.table import SheetLike, make_sheet
from diffloom_physics_cloth.rest_shape import (
    SheetRestShape,
    find_plane_normal,
    lump_mass,
    place,
    rest_shape,
    set_moving,
)
from diffloom_physics_cloth.self_collision import build_self_collision_term, check_thickness
from diffloom_physics_cloth.stress import average_at_vertices, check_sheet_thickness, principal_stresses, von_mises
from diffloom_physics_cloth.terms import (
    AirCoefficients,
    Elasticity,
    build_anchor_term,
    build_face_term,
    build_hinge_term,
    build_planar_face_term,
    pack_elements,
)

Which = str | int | Iterable[str | int]


class ClothModel(Model):
    """A thin shell: triangles resist stretch and shear, hinges resist bending; with air, contact, pins and springs.

    The state is q (particles, 3) [m] and u (particles, 3) [m/s]. docs/models/cloth.md lists all parameters and
    equations.

    Args:
        mesh: A Sheet, a ``trimesh.Trimesh``, a mesh file, or a table such as ``{"shape": "grid", "cells": [20, 10],
            "size": [2, 1]}``.
        pins: Vertices held in place: a group's name, a number, or a list of both.
        anchors: Vertices tied to points by springs, given like pins.
        springs: Pairs of vertices joined by springs.
        ground: True for contact with the ground plane.
        self_collision: Thickness [m] at which the shell touches itself, or None.
        self_friction: True for friction in contact of the shell with itself.
        bending: False for a shell without hinges.
        planar: True for triangles that stay in their plane and recover from inversion, without bending and air.
        contact: Contact law of ground and self-collision: a registered name, a table with the key ``law``, or a law.
        thickness: Thickness of the sheet [m] or None; it has no effect on the motion, and gives ``stress`` in Pa.

    Example:
        model = ClothModel({"shape": "grid", "cells": [8, 8], "size": [1, 1]}, pins=["top"])
        path = simulate(model, model.params(density=0.2), dt=1e-3, steps=500)
    """

    example_settings = ExampleSettings(
        dt=1e-3,
        steps=60,
        fit="shear_modulus",
        values={"ground_height": 0.093},
        rest={"gravity": (0.0, 0.0, 0.0), "ground_height": -10.0},
        claims=("translation", "rotation", "boost", "momentum", "angular_momentum"),
        variants=lambda model: (
            {"mass": 0.002},
            {"start_shape": model.sheet.vertices, "rest_shape": model.sheet.vertices},
            {"rest_angle": 0.1},
            {"drag": 0.6, "lift": 0.3, "wind": (1.0, 0.5, -0.3)},
            {"friction": 0.02, "velocity": (1.0, 0.0, 0.2)},
            {"restitution": 0.5, "reference_speed": 0.7},
        ),
        impacts=ImpactSettings(
            5e-4, 300, ("contact_stiffness", "contact_dissipation", "friction"), {"ground_height": 0.05}
        ),
    )

    def __init__(
        self,
        mesh: SheetLike = "grid",
        *,
        pins: Which = (),
        anchors: Which = (),
        springs: Sequence[Sequence[int]] = (),
        ground: bool = False,
        self_collision: float | None = None,
        self_friction: bool = False,
        bending: bool = True,
        planar: bool = False,
        contact: object = "hunt_crossley",
        thickness: float | None = None,
    ) -> None:
        self.thickness = check_sheet_thickness(thickness)
        self.sheet = make_sheet(mesh)
        self.pins = self.sheet.select("pins", pins)
        self.anchors = self.sheet.select("anchors", anchors)
        self.springs = check_springs(springs, len(self.sheet.vertices))
        self.ground = ground
        self.self_collision = self_collision
        self.self_friction = self_friction
        if self_friction and self_collision is None:
            raise InputError("self_friction: got True for a shell that does not touch itself; give self_collision too")
        self.contact = resolve_contact_law(contact)
        self.bending = bending and not planar and len(self.sheet.edges.hinges) > 0
        self.planar = planar
        self.normal = find_plane_normal(self.sheet) if planar else None
        if self_collision is not None:
            check_thickness(self.sheet.vertices, self.sheet.faces, self_collision)
        kinds = {
            "faces": self.sheet.faces,
            "hinges": self.sheet.edges.hinges,
            "anchors": self.anchors.reshape(-1, 1),
            "springs": self.springs,
        }
        self._nodes = {kind: freeze_array(pack_elements(elements)) for kind, elements in kinds.items()}

    @classmethod
    def example(cls) -> ClothModel:
        """Return a small sheet, pinned by two corners, that swings over the ground."""
        mesh = {"shape": "grid", "cells": [4, 4], "size": [0.4, 0.4], "position": [0.0, 0.1, 0.0]}
        return cls(mesh, pins=["top_left", "top_right"], ground=True, self_collision=0.02)

    @cached_property
    def specs(self) -> tuple[ParamSpec, ...]:
        return (
            *specs.build_motion_specs(),
            *(() if self.planar else specs.build_turning_specs()),
            *specs.build_face_specs(air=not self.planar),
            *(specs.build_hinge_specs() if self.bending else ()),
            *(specs.build_anchor_specs() if len(self.anchors) else ()),
            *(specs.build_spring_specs() if len(self.springs) else ()),
            *(specs.build_ground_specs(self.contact) if self.ground else ()),
            *(
                specs.build_collision_specs(self.contact, friction=self.self_friction)
                if self.self_collision is not None
                else ()
            ),
        )

    @cached_property
    def axes(self) -> Mapping[str, int]:
        return {
            "particles": len(self.sheet.vertices),
            "faces": len(self.sheet.faces),
            "hinges": len(self.sheet.edges.hinges),
            "anchors": len(self.anchors),
            "springs": len(self.springs),
        }

    def initial_state(self, params: Params) -> State:
        """Return the state at the start; pinned vertices rest at any velocity."""
        q = self._start(params)
        still = torch.zeros(3, dtype=params.dtype)
        u = set_moving(q, self.mass(params), params["velocity"], params.get("angular_velocity", still))
        return State(q, torch.where(torch.from_numpy(self.fixed)[:, None], torch.zeros_like(u), u))

    def _start(self, params: Params) -> Tensor:
        """Return the positions at the start (particles, 3) [m]."""
        upright = torch.tensor([1.0, 0.0, 0.0, 0.0], dtype=params.dtype)
        turn = params.get("orientation", upright)
        return place(self._shape("start_shape", params), params["position"], turn)

    def _shape(self, name: str, params: Params) -> Tensor:
        """Return the positions (particles, 3) [m] of a parameter; by default those of the mesh."""
        vertices = torch.from_numpy(self.sheet.vertices).to(params.dtype)
        return broadcast(params.get(name, vertices), (self.axes["particles"], 3))

    @cached_property
    def fixed(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Flags (particles,) of pinned vertices."""
        fixed = np.zeros(self.axes["particles"], dtype=bool)
        fixed[self.pins] = True
        return fixed

    def dynamics(self, params: Params, control: Control) -> Mechanics:
        rest = self.rest_shape(params)
        skin = TouchingSkin(self._nodes["faces"])
        law = particles(self.mass(params, rest), params["gravity"], self.fixed, skin)
        return Mechanics(law, tuple(self._terms(params, control, rest)))

    def rest_shape(self, params: Params) -> SheetRestShape:
        """Return rest lengths, areas and angles, from the parameter ``rest_shape`` or else from the mesh."""
        if "rest_shape" in params:
            return rest_shape(self._shape("rest_shape", params), self.sheet.faces, self.sheet.edges.hinges)
        if params.dtype not in self._rest:
            with suspend_transforms():  # a tensor that belongs to a transform must not outlive it
                made = rest_shape(torch.from_numpy(self.sheet.vertices), self.sheet.faces, self.sheet.edges.hinges)
                self._rest[params.dtype] = made.to(params.dtype)
        return self._rest[params.dtype]

    @cached_property
    def _rest(self) -> dict[torch.dtype, SheetRestShape]:
        """Rest shapes of the mesh by precision, filled on demand."""
        return {}

    def mass(self, params: Params, rest: SheetRestShape | None = None) -> Tensor:
        """Return the masses (particles,) [kg]: the parameter ``mass``, or a third of the mass of each adjacent face.

        Args:
            params: Parameters of the model.
            rest: Rest shape, if it is known already.
        """
        if "mass" in params:
            return broadcast(params["mass"], (self.axes["particles"],))
        area = (rest or self.rest_shape(params)).area
        density = broadcast(params["density"], (self.axes["faces"],))
        return lump_mass(density, area, self.sheet.faces, self.axes["particles"])

    def _terms(self, params: Params, control: Control, rest: SheetRestShape) -> Iterable[Term]:
        """Yield the force terms of elasticity, ties and contact."""
        yield self._faces(params, control, rest)
        if self.bending:
            yield build_hinge_term(
                self._nodes["hinges"],
                rest.hinge_weight,
                params["bending_stiffness"],
                params["bending_damping"],
                params.get("rest_angle", rest.hinge_angle),
                per_step("bending_activation", params, control),
            )
        if len(self.anchors):
            start = take(self._start(params), self.anchors)
            yield build_anchor_term(
                self._nodes["anchors"],
                params.get("anchor_place", start),
                params["anchor_stiffness"],
                params["anchor_damping"],
            )
        if len(self.springs):
            length = params["spring_length"] if "spring_length" in params else self._spring_lengths(params)
            yield springs(self._nodes["springs"], params["spring_stiffness"], params["spring_damping"], length)
        if self.ground:
            yield ground(params, self.axes["particles"], contact=self.contact)
        if self.self_collision is not None:
            yield build_self_collision_term(
                self.sheet.faces,
                self.axes["particles"],
                self.self_collision,
                self.contact,
                [params[specs.name_collision_parameter(spec.name)] for spec in self.contact.normal_specs],
                [params[specs.name_collision_parameter(spec.name)] for spec in self.contact.friction.specs]
                if self.self_friction
                else None,
            )

    def _faces(self, params: Params, control: Control, rest: SheetRestShape) -> Term:
        """Return the term of the faces: elasticity, and air unless planar."""
        faces = self._nodes["faces"]
        material = Elasticity(
            params["shear_modulus"],
            params["lame_modulus"],
            params["damping"],
            per_step("activation", params, control),
        )
        if self.normal is not None:
            return build_planar_face_term(faces, self.normal, rest.edges, rest.area, material)
        if "drag" not in params and "lift" not in params:
            return build_face_term(faces, rest.edges, rest.area, material)
        none = torch.zeros((), dtype=params.dtype)
        air = AirCoefficients(params.get("drag", none), params.get("lift", none), per_step("wind", params, control))
        return build_face_term(faces, rest.edges, rest.area, material, air)

    def _spring_lengths(self, params: Params) -> Tensor:
        """Return the rest lengths of the springs (springs,) [m], from the rest shape."""
        ends = take(self._shape("rest_shape", params), self.springs)
        length: Tensor = (ends[:, 1] - ends[:, 0]).norm(dim=1)
        return length

    def suggested_dt(self, params: Params | None = None) -> float:
        """Return a step length [s] for explicit integrators, from the elasticity at the start and contact with the
        ground.

        Args:
            params: Parameters of the model; its defaults if None.
        """
        return suggest_explicit_step(self, params, self.contact if self.ground else None)

    def surface(self, trajectory: Trajectory, params: Params) -> Surface:
        return Surface(trajectory.q, torch.from_numpy(self.sheet.faces))

    def membrane_stress(self, trajectory: Trajectory, params: Params, control: Control | None = None) -> Tensor:
        """Return the principal elastic forces per length within each face, without damping.

        Args:
            trajectory: States.
            params: Parameters of the model.
            control: Controls that drove the motion, a row for each frame.

        Returns:
            (frames, faces, 2) [N/m], the larger one first.
        """
        corners = trajectory.q[:, torch.from_numpy(self.sheet.faces)]
        count = self.axes["faces"]
        mu, lam = (broadcast_read_only(params[name], (count,)) for name in ("shear_modulus", "lame_modulus"))
        activation = per_step("activation", params, control or Control())
        rows = broadcast_read_only(activation.reshape(activation.shape[0], -1), (activation.shape[0], count))
        normal = None if self.normal is None else torch.as_tensor(self.normal, dtype=params.dtype)
        return principal_stresses(corners, self.rest_shape(params).edges, mu, lam, rows, normal)

    def stress(self, trajectory: Trajectory, params: Params, control: Control | None = None) -> Stress:
        """Return von Mises's membrane stress at each vertex, the mean of the adjacent faces weighted by area.

        The unit is Pa if ``thickness`` was given, otherwise N/m. Bending is not included.

        Args:
            trajectory: States.
            params: Parameters of the model.
            control: Controls that drove the motion, a row for each frame.
        """
        each = von_mises(self.membrane_stress(trajectory, params, control))
        values = average_at_vertices(each, self.rest_shape(params).area, self.sheet.faces, self.axes["particles"])
        return Stress(values, "N/m") if self.thickness is None else Stress(values / self.thickness, "Pa")

    def texture(self, image: Tensor, **options: Any) -> Texture:
        """Return a texture that lays ``image`` (height, width, 3) over the shell by the mesh's texture coordinates.

        Args:
            image: Image in 0..1.
            options: Further arguments of ``diffloom.interfaces.Texture``.

        Raises:
            InputError: The mesh has no texture coordinates.
        """
        if self.sheet.uv is None:
            raise InputError(f"{self.sheet.name} has no texture coordinates; give it a mesh with uv")
        uv = torch.from_numpy(self.sheet.uv).to(image.dtype)
        corners = None if self.sheet.uv_faces is None else torch.from_numpy(self.sheet.uv_faces)
        return Texture(image, uv, corners, **options)


def per_step(name: str, params: Params, control: Control) -> Tensor:
    """Return the control of this name, one row per step, or the parameter as a single row."""
    return control[name] if name in control else params[name].unsqueeze(0)


def check_springs(pairs: Sequence[Sequence[int]], count: int) -> Indices:
    """Return pairs of vertices as an array (springs, 2).

    Raises:
        InputError: A pair is not two different vertex numbers below ``count``.
    """
    array = np.array(pairs, dtype=np.int64).reshape(-1, 2) if len(pairs) == 0 else np.array(pairs)
    if array.ndim != 2 or array.shape[1] != 2 or not np.issubdtype(array.dtype, np.integer):
        raise InputError(f"springs: got {pairs!r}; expected a list of pairs of vertex numbers")
    bad = np.flatnonzero(((array < 0) | (array >= count)).any(axis=1) | (array[:, 0] == array[:, 1]))
    if bad.size:
        raise InputError(
            f"spring {bad[0]} joins {array[bad[0]].tolist()}; expected two different vertices of 0 to {count - 1}"
        )
    return array.astype(np.int64)
