"""The model "rigid": bodies that fall, collide, slide and roll."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from diffloom.fixed_order import broadcast
from diffloom.interfaces import (
    Control,
    ExampleSettings,
    ImpactSettings,
    InputError,
    Model,
    Params,
    ParamSpec,
    State,
    Surface,
    Trajectory,
)
from diffloom.transforms import unwrap_values
from diffloom_geometry.rotations import rotation_matrices, symmetric_entries, symmetric_matrices, unit_quaternions
from diffloom_mechanics import Mechanics, NodeTerm, Term
from diffloom_mechanics.contact import ShapeArrays, TouchingBodies, cluster_points, resolve_contact_law
from diffloom_physics_rigid.body_files import as_tables, read_body
from diffloom_physics_rigid.body_set import build_body_set
from diffloom_physics_rigid.contact_defaults import compute_stable_step, estimate_impact_speeds, find_sides
from diffloom_physics_rigid.ground import build_ground_term
from diffloom_physics_rigid.pairs import build_pair_term, compute_collision_reach, compute_point_share, pack_shapes
from diffloom_physics_rigid.parameters import build_specs
from diffloom_physics_rigid.pushes import build_push_term, pack_push_times, read_push


class RigidModel(Model):
    """Rigid bodies with contact and friction.

    The state is q (bodies, 7), centre of mass [m] and unit quaternion w, x, y, z; and u (bodies, 6), velocity [m/s] and
    angular velocity [rad/s], both in world axes. docs/models/rigid.md lists all keys, parameters and equations.

    Args:
        bodies: One table each, such as ``{"shape": "box", "size": [1, 1, 1], "position": [0, 2, 0]}`` or
            ``{"mesh": "duck.obj", "density": 500}``; instead of a table also the name of a shape, the path of a mesh
            file or a ``trimesh.Trimesh``. A single body needs no list.
        pushes: Tables of external forces or impulses in windows of time.
        ground: True for a ground plane.
        collisions: True if bodies touch each other; by default if there are several.
        contact: Contact law of ground and collisions: a registered name, a table with the key ``law``, or a law.

    Example:
        model = RigidModel([{"shape": "sphere", "radius": 0.1, "position": [0, 1, 0], "mass": 0.5}])
        path = simulate(model, model.params(velocity=[1.0, 0.0, 0.0]), dt=model.suggested_dt(), steps=1000)
    """

    example_settings = ExampleSettings(
        dt=1.0 / 960.0,
        steps=120,
        fit="mass",
        # At rest nothing touches; free of outer forces, the ball still lies on the box.
        rest={
            "gravity": (0.0, 0.0, 0.0),
            "ground_height": -10.0,
            "push_force": 0.0,
            "velocity": 0.0,
            "angular_velocity": 0.0,
            "position": ((-0.3, 0.15, 0.0), (-0.3, 1.2, 0.0), (0.5, 0.6, 0.2)),
        },
        free={"gravity": (0.0, 0.0, 0.0), "ground_height": -10.0, "push_force": 0.0},
        claims=("translation", "rotation", "boost", "momentum", "angular_momentum"),
        variants=(
            {"density": 500.0},
            {"inertia": (0.12, 0.14, 0.1, 0.01, 0.0, -0.01)},
            {"restitution": 0.5, "reference_speed": 0.7},
        ),
        impacts=ImpactSettings(
            2e-4,
            4000,
            ("contact_stiffness", "contact_dissipation", "friction"),
            {"push_force": 0.0, "contact_dissipation": 1.0},
        ),
    )

    def __init__(
        self,
        bodies: object,
        *,
        pushes: Sequence[Mapping[str, Any]] = (),
        ground: bool = True,
        collisions: bool | None = None,
        contact: object = "hunt_crossley",
    ) -> None:
        self.contact = resolve_contact_law(contact)
        self._tables = as_tables(bodies)
        if not self._tables:
            raise InputError("RigidModel: got no bodies; expected at least one table such as {shape = 'box'}")
        self.bodies = tuple(read_body(number, table, self.contact) for number, table in enumerate(self._tables))
        self.pushes = tuple(read_push(number, table, self.bodies) for number, table in enumerate(pushes))
        self.ground = ground
        self.collisions = len(self.bodies) > 1 if collisions is None else collisions
        roundness, reach = [body.roundness for body in self.bodies], [body.reach for body in self.bodies]
        self._points = cluster_points([body.points for body in self.bodies], roundness)
        self._pair_points = cluster_points([body.pair_points for body in self.bodies], roundness, reach)
        self._shapes: dict[float, ShapeArrays] = {}
        self._specs = build_specs(self.contact, self.bodies, self.pushes)
        self._fixed = np.array([body.fixed for body in self.bodies])
        self._push_times = pack_push_times(self.pushes, len(self.bodies))
        self._inertia_by_volume = symmetric_entries(
            torch.tensor(np.array([body.inertia / body.volume for body in self.bodies]))
        )

    @classmethod
    def example(cls) -> RigidModel:
        """Return a box that slides with a ball on its back, and a star that flies by; a push on each makes its mass
        show.
        """
        return cls(
            bodies=[
                {"shape": "box", "size": [0.5, 0.3, 0.4], "position": [-0.3, 0.1498, 0.0], "mass": 8.0,
                 "velocity": [1.5, -0.01, 0.3], "angular_velocity": [0.01, 0.5, -0.02], "friction": 0.3,
                 "colour": [0.9, 0.4, 0.2], "name": "box"},
                {"shape": "sphere", "radius": 0.12, "position": [-0.3, 0.4195, 0.0], "velocity": [1.5, -0.02, 0.3],
                 "mass": 2.0, "colour": [0.2, 0.5, 0.9], "name": "ball"},
                {"shape": "star", "scale": 0.5, "position": [0.5, 0.6, 0.2], "orientation": [0.9, 0.3, 0.1, 0.2],
                 "velocity": [-0.5, 0.5, 0.0], "mass": 1.0, "colour": [0.9, 0.8, 0.2], "name": "star"},
            ],
            pushes=[
                {"body": "box", "point": [-0.25, -0.1, 0.05], "force": [60.0, 0.0, 20.0], "start": 0.01, "end": 0.09},
                {"body": "ball", "force": [10.0, 0.0, -8.0], "start": 0.02, "end": 0.1},
                {"body": "star", "vertex": 0, "impulse": [0.4, 0.5, -0.6], "start": 0.005, "end": 0.085},
            ],
        )  # fmt: skip

    @property
    def specs(self) -> tuple[ParamSpec, ...]:
        return self._specs

    @property
    def axes(self) -> Mapping[str, int]:
        return {"bodies": len(self.bodies), "pushes": len(self.pushes)}

    def initial_state(self, params: Params) -> State:
        count = len(self.bodies)
        turn = unit_quaternions(broadcast(params["orientation"], (count, 4)))
        q = torch.cat([broadcast(params["position"], (count, 3)), turn], dim=1)
        u = torch.cat(
            [broadcast(params["velocity"], (count, 3)), broadcast(params["angular_velocity"], (count, 3))], dim=1
        )
        return State(q, u)

    def masses(self, params: Params) -> Tensor:
        """Return the masses (bodies,) [kg]: the parameter ``mass``, or density times volume.

        Raises:
            InputError: Both ``mass`` and ``density`` were given.
        """
        count = (len(self.bodies),)
        if "density" not in params:
            return broadcast(params["mass"], count)
        standard = self.spec("mass").default.to(params.dtype)
        if not bool((unwrap_values(params["mass"]) == standard).all()):
            raise InputError("got both mass and density; give one of them")
        volumes = torch.tensor([body.volume for body in self.bodies], dtype=params.dtype)
        return broadcast(params["density"], count) * volumes

    def derived(self, params: Params) -> Mapping[str, Tensor]:
        return {"mass": self.masses(params)}

    def inertias(self, params: Params, masses: Tensor | None = None) -> Tensor:
        """Return the inertias (bodies, 6) about the centre, xx yy zz xy xz yz [kg m^2].

        They are the parameter ``inertia`` or, without one, those of the shapes, scaled to the masses.

        Args:
            params: Parameters of the model.
            masses: Masses (bodies,) [kg] if they are known already.
        """
        count = len(self.bodies)
        if "inertia" in params:
            return broadcast(params["inertia"], (count, 6))
        known = self.masses(params) if masses is None else masses
        return known[:, None] * self._inertia_by_volume.to(params.dtype)

    def _with_stiffness(self, params: Params) -> Mapping[str, Tensor]:
        """Return ``params`` with the stiffness that ``static_sag`` asks for: m g / (n sag), n points on the largest
        side.
        """
        if "static_sag" not in params:
            return params
        sides = torch.tensor([len(find_sides(b.points, b.roundness)[0]) for b in self.bodies], dtype=params.dtype)
        weight = self.masses(params) * params["gravity"].norm()
        return {**params, "contact_stiffness": weight / (sides * params["static_sag"])}

    def dynamics(self, params: Params, control: Control) -> Mechanics:
        # Obstacles and other bodies take the contact points relative to the centre of the shape.
        off_centre = "centre_of_mass" in params
        if off_centre and self.collisions:
            raise InputError(
                "centre_of_mass: got one for bodies that touch each other; only contact with the ground takes it into "
                "account: leave it out, or give collisions = false"
            )
        masses = self.masses(params)
        points = None if off_centre else self._points
        law = build_body_set(masses, self.inertias(params, masses), params["gravity"], self._fixed, points)
        contact = self._with_stiffness(params)
        # Ground and pushes are always among the terms, because every scene then runs one of two compiled programs.
        terms: list[Term] = [
            build_ground_term(self.contact, self._points, contact, self._fixed | (not self.ground)),
            self._push_term(params),
        ]
        if self.collisions:
            terms.append(build_pair_term(self.contact, self.bodies, self._pair_points, self._shapes_of(0.0), contact))
        return Mechanics(replace(law, touches=None if off_centre else self._touches), tuple(terms))

    def _shapes_of(self, margin: float) -> ShapeArrays:
        """Return the shapes of all bodies, with distances up to ``margin`` [m] outside; built once for each margin."""
        if margin not in self._shapes:
            self._shapes[margin] = pack_shapes(self.bodies, margin)
        return self._shapes[margin]

    @cached_property
    def _touches(self) -> TouchingBodies:
        """Contact points and shapes with which the bodies touch other bodies of a world."""
        points = replace(self._pair_points, reach=compute_collision_reach(self.bodies))
        return TouchingBodies(points, self._shapes_of, self._point_shares)

    @cached_property
    def _shares(self) -> NDArray[np.float64]:
        """Point shares of the bodies (bodies,)."""
        return np.array([compute_point_share(body) for body in self.bodies])

    def _point_shares(self) -> NDArray[np.float64]:
        """Return the point shares, as TouchingBodies calls for them."""
        return self._shares

    def _push_term(self, params: Params) -> NodeTerm:
        """Return the term of the pushes."""
        count = len(self.pushes)
        force = point = torch.zeros((0, 3), dtype=params.dtype)
        if count:
            force, point = broadcast(params["push_force"], (count, 3)), broadcast(params["push_point"], (count, 3))
        return build_push_term(self._push_times, force, point, len(self.bodies))

    def surface(self, trajectory: Trajectory, params: Params) -> Surface:
        centre = broadcast(params.get("centre_of_mass", trajectory.q.new_zeros(3)), (len(self.bodies), 3))
        own = [torch.tensor(b.vertices, dtype=trajectory.q.dtype) - centre[i] for i, b in enumerate(self.bodies)]
        q, turns = trajectory.q, rotation_matrices(trajectory.q[..., 3:])
        moved = [q[:, i, None, :3] + v @ turns[:, i].transpose(-1, -2) for i, v in enumerate(own)]
        starts = np.concatenate([[0], np.cumsum([len(body.vertices) for body in self.bodies])])
        faces = np.concatenate([body.faces + start for body, start in zip(self.bodies, starts, strict=False)])
        colours = None
        if any(body.colour is not None for body in self.bodies):
            rows = [np.tile(body.colour or (0.5, 0.5, 0.5), (len(body.vertices), 1)) for body in self.bodies]
            colours = torch.tensor(np.concatenate(rows), dtype=trajectory.q.dtype)
        return Surface(torch.cat(moved, dim=1), torch.tensor(faces, dtype=torch.int64), colours=colours)

    def copies(self, count: int) -> RigidModel:
        """Return a model of ``count`` copies of the one body, which do not touch each other: many runs in one rollout.

        Raises:
            InputError: The model has several bodies, or pushes.
        """
        if len(self._tables) != 1 or self.pushes:
            raise InputError(f"copies: got a model of {len(self.bodies)} bodies and {len(self.pushes)} pushes; "
                             "expected one body without pushes")  # fmt: skip
        return RigidModel(self._tables * count, ground=self.ground, collisions=False, contact=self.contact)

    def frames(self, trajectory: Trajectory, params: Params) -> Tensor:
        """Return the pose (frames, bodies, 7) of each body's shape: centre of the shape [m] and quaternion w, x, y, z.

        The state holds centres of mass, which differ from the centres of the shapes if ``centre_of_mass`` is given.
        """
        q = trajectory.q
        if "centre_of_mass" not in params:
            return q
        centre = broadcast(params["centre_of_mass"], (len(self.bodies), 3))
        place = q[..., :3] - (rotation_matrices(q[..., 3:]) @ centre[..., None])[..., 0]
        return torch.cat([place, q[..., 3:]], dim=-1)

    def suggested_dt(self, params: Params | None = None) -> float:
        """Return a step length [s] that resolves the contact of every free body.

        It follows from mass, size and contact parameters, and from the speed of impact: that of the start and of the
        fall to the ground.

        Args:
            params: Parameters of the model; its defaults if None.
        """
        given = self.params(torch.float64) if params is None else params
        count = len(self.bodies)
        contact = self.contact.resolve(self._with_stiffness(given))
        columns = {name: broadcast(contact[name].detach().double(), (count,)).tolist() for name in self.contact.names}
        masses = self.masses(given).detach().double().tolist()
        inertias = symmetric_matrices(self.inertias(given).detach().double()).numpy()
        speeds = estimate_impact_speeds(self.initial_state(given), given, [body.reach for body in self.bodies])
        steps = [
            compute_stable_step(
                self.contact, find_sides(body.points, body.roundness), masses[i], inertias[i],
                {name: column[i] for name, column in columns.items()}, speeds[i],
            )
            for i, body in enumerate(self.bodies)
            if not body.fixed
        ]  # fmt: skip
        return min(steps, default=math.inf)
