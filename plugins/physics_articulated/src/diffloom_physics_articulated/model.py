"""The model "articulated": trees of rigid links in joint coordinates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, final

import numpy as np
import torch
from torch import Tensor

from diffloom.fixed_order import broadcast
from diffloom.interfaces import (
    Control,
    ExampleSettings,
    InputError,
    Model,
    Params,
    ParamSpec,
    State,
    Surface,
    Trajectory,
)
from diffloom_geometry.rotations import unit_quaternions
from diffloom_mechanics import CarriedLinks, Mechanics, NodeSet, Term, get_step_values, suggest_explicit_step
from diffloom_mechanics.contact import TouchingLinks, resolve_contact_law
from diffloom_physics_articulated import measured_motion
from diffloom_physics_articulated.kinematics import link_poses
from diffloom_physics_articulated.layout import build_layout
from diffloom_physics_articulated.link import VELOCITIES, Tree
from diffloom_physics_articulated.link_bodies import carry_links, link_bodies
from diffloom_physics_articulated.link_contact import LinkContact, build_contact_specs
from diffloom_physics_articulated.link_points import link_points
from diffloom_physics_articulated.mass_properties import (
    check_physical,
    from_log_cholesky,
    stretch_inertia,
    stretch_vectors,
    ten_numbers,
    to_log_cholesky,
)
from diffloom_physics_articulated.model_files import read_tree
from diffloom_physics_articulated.parameters import COMMANDS, PASSIVE, build_specs
from diffloom_physics_articulated.self_contact import Pairs, build_link_contact_term, select_touching_links
from diffloom_physics_articulated.surfaces import TreeSurface, build_surface
from diffloom_physics_articulated.tree_set import build_joint_term, build_tree_set

PADDING = (0.0, 0.0, 0.0, 0.0, 1.0, -1e3, 1e3, 0.0, 0.0, 0.0, 0.0)
"""Joint row of velocities that a smaller tree does not have: no force, and a friction speed other than 0."""


@final
class ArticulatedModel(Model):
    """Trees of links that joints hold together.

    The state is one row for each tree: q holds the quaternions of its balls and then its scalar coordinates, u the
    angular velocities of its balls in the links' axes and then the rates. docs/models/articulated.md lists all keys,
    parameters and equations.

    Args:
        trees: One table each, such as ``{"builder": "pendulum", "length": 1.0}``, ``{"file": "robot.urdf"}`` or
            ``{"links": [...]}``, or a Tree.
        ground: True if links touch a ground plane.
        touches: True if links touch obstacles and other bodies of a world; by default as ``ground``.
        contact: Contact law: a registered name, a table with the key ``law``, or a law.
        self_contact: Links of a tree that touch each other: True for all but neighbours, or pairs of names.

    Example:
        model = ArticulatedModel([{"builder": "double_pendulum", "lengths": [1.0, 0.7]}])
        path = simulate(model, model.params(), dt=1e-3, steps=1000)
    """

    example_settings = ExampleSettings(
        dt=0.005,
        steps=30,
        fit="mass",
        rest={
            "gravity": (0.0, 0.0, 0.0), "joint_velocity": 0.0, "stiffness": 0.0, "torque": 0.0, "servo_stiffness": 0.0,
            "servo_damping": 0.0, "limit_stiffness": 0.0,
        },
        variants=lambda model: (
            {"log_inertia": to_log_cholesky(model.ten_numbers(model.params(torch.float64)))},
            {"lower_limit": 0.9},
        ),
    )  # fmt: skip

    def __init__(
        self,
        trees: Sequence[Mapping[str, Any] | Tree],
        *,
        ground: bool = False,
        touches: bool | None = None,
        contact: object = "hunt_crossley",
        self_contact: Pairs = False,
    ) -> None:
        if not trees:
            raise InputError("ArticulatedModel: got no trees; expected at least one, such as {builder = 'pendulum'}")
        self.trees = tuple(t if isinstance(t, Tree) else read_tree(number, t) for number, t in enumerate(trees))
        self.links = tuple(link for tree in self.trees for link in tree.links)
        self.layout = build_layout(self.trees)
        if not self.layout.du:
            raise InputError("ArticulatedModel: no joint can move; expected at least one that is not fixed")
        self.ground, self.touches = bool(ground), bool(ground if touches is None else touches)
        self.contact = resolve_contact_law(contact)
        self.self_contact, self._pairs = self_contact, select_touching_links(self.trees, self_contact)
        self._specs = build_specs(self.links)
        if self._in_contact:
            self._specs += build_contact_specs(self.contact, self.trees)
        self._contact_names = tuple(spec.name for spec in (*self.contact.specs, *self.contact.extra_specs))
        self._points, self._bodies = link_points(self.links, self.layout), link_bodies(self.links, self.layout)
        if self._in_contact and not self._points.touching.any():
            raise InputError("ArticulatedModel: got ground, touches or self_contact, but no link has a shape that "
                             "touches; give one shapes, or leave them out")  # fmt: skip
        self._along = torch.tensor(np.array([link.along for link in self.links]))
        self._slender = torch.tensor([float(link.slender) for link in self.links], dtype=torch.float64)
        self._lengths = torch.tensor([link.length for link in self.links], dtype=torch.float64)
        self._parents = torch.tensor(self._parent_numbers())
        self._surface: TreeSurface | None = None

    @property
    def _in_contact(self) -> bool:
        """True if links touch anything at all."""
        return self.ground or self.touches or bool(self._pairs)

    @classmethod
    def example(cls) -> ArticulatedModel:
        """Return a swinging arm on a cart and a flying body with a limb: every kind of joint, spring and motor."""
        from diffloom_physics_articulated.example import example_trees

        return cls(example_trees())

    def _parent_numbers(self) -> list[int]:
        """Return the number of each link's parent; -1 for the world."""
        numbers: list[int] = []
        first = 0
        for tree in self.trees:
            names = [link.name for link in tree.links]
            numbers += [-1 if link.parent is None else first + names.index(link.parent) for link in tree.links]
            first += len(names)
        return numbers

    @property
    def specs(self) -> tuple[ParamSpec, ...]:
        return self._specs

    @property
    def axes(self) -> Mapping[str, int]:
        return {
            "links": len(self.links),
            "dofs": len(self.layout.dofs),
            "scalars": len(self.layout.coordinates),
            "balls": len(self.layout.turns),
        }

    def initial_state(self, params: Params) -> State:
        layout = self.layout
        q = torch.zeros(layout.trees, layout.dq, dtype=params.dtype)
        q[:, [4 * k for k in range(layout.balls)]] = 1.0
        q = q.reshape(-1)
        place = torch.from_numpy(layout.coordinates)
        q = q.index_copy(0, place, broadcast(params["joint_position"], (len(place),)))
        turns = unit_quaternions(broadcast(params["joint_orientation"], (len(layout.turns), 4)))
        within = (torch.from_numpy(layout.turns)[:, None] + torch.arange(4)).reshape(-1)
        q = q.index_copy(0, within, turns.reshape(-1))
        u = layout.by_velocity(broadcast(params["joint_velocity"], (len(layout.dofs),)))
        return State(q.view(layout.trees, layout.dq), u)

    def joint_frames(self, params: Params) -> Tensor:
        """Return the pose (trees, rows, 7) of each joint in its parent's axes: position [m] and quaternion."""
        count = len(self.links)
        # The parent of a root is the world, which does not stretch.
        along = torch.cat([self._along, torch.zeros(1, 3).double()])[self._parents].to(params.dtype)
        ratio = torch.cat([self._ratio(params), torch.ones(1, dtype=params.dtype)])[self._parents]
        r = stretch_vectors(broadcast(params["frame_position"], (count, 3)), along, ratio)
        e = broadcast(params["frame_orientation"], (count, 4))
        otherwise = (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)
        return self.layout.by_row(torch.cat([r, e], dim=1), self.layout.frame_rows, otherwise)

    def _ratio(self, params: Params) -> Tensor:
        """Return the length (links,) of each link relative to its initial length."""
        return broadcast(params["length"], (len(self.links),)) / self._lengths.to(params.dtype)

    def ten_numbers(self, params: Params) -> Tensor:
        """Return (links, 10): mass, first moment and second moments of each link about its origin, in its axes."""
        count, dtype = len(self.links), params.dtype
        if "log_inertia" in params:
            return from_log_cholesky(broadcast(params["log_inertia"], (count, 10)))
        mass, inertia = broadcast(params["mass"], (count,)), broadcast(params["inertia"], (count, 6))
        check_physical(mass, inertia, tuple(link.name for link in self.links))
        ratio, along = self._ratio(params), self._along.to(dtype)
        centre = stretch_vectors(broadcast(params["centre_of_mass"], (count, 3)), along, ratio)
        slender = self._slender.to(dtype)
        return ten_numbers(mass, centre, stretch_inertia(inertia, along, 1.0 + slender * (ratio - 1.0)))

    def dynamics(self, params: Params, control: Control) -> Mechanics:
        layout, count = self.layout, len(self.layout.dofs)
        inertia = layout.by_row(self.ten_numbers(params), layout.mass_rows, (0.0,) * 10)
        armature = layout.by_velocity(broadcast(params["armature"], (count,)))
        gravity = broadcast(params["gravity"], (layout.trees, 3))
        frame = self.joint_frames(params)
        nodes = replace(build_tree_set(layout, frame, inertia, armature, gravity), carries=self._carries(frame))
        terms: tuple[Term, ...] = (build_joint_term(layout, self._passive(params), self._commands(params, control)),)
        if not self._in_contact:
            return Mechanics(nodes, terms)
        contact = self._link_contact(params)
        if self.ground:
            terms = (*terms, contact.ground(params))
        if self._pairs:
            terms = (
                *terms,
                build_link_contact_term(self.contact, self._make_link_set(params), self._bodies.link, self._pairs),
            )
        if self.touches:
            nodes = replace(
                nodes, touches=TouchingLinks(contact.term, contact.roundest, lambda: self._make_link_set(params))
            )
        return Mechanics(nodes, terms)

    def _carries(self, frame: Tensor) -> CarriedLinks:
        """Return the links that other bodies of a world can be attached to."""

        def places(q: Tensor) -> tuple[Tensor, Tensor]:
            turns, origins = link_poses(self.layout, frame, q[None])
            return turns[0], origins[0]

        names = tuple(link.name for link in self.links)
        return CarriedLinks(names, lambda: carry_links(self.layout, frame), places)

    def _make_link_set(self, params: Params) -> NodeSet:
        """Return the node set of the links' shapes, which touch other bodies of a world."""
        count = (len(self.links),)
        mass, growth, size = self.ten_numbers(params)[:, 0], self._growth(params), broadcast(params["size"], count)
        values = {name: broadcast(params[name], count) for name in self._contact_names if name in params}
        return self._bodies.node_set(self.layout, self.joint_frames(params), mass, growth, size, values)

    def _link_contact(self, params: Params) -> LinkContact:
        """Return the contact of the links for given parameters."""
        count = len(self.links)
        grown = self._points.grow(self.layout, self._growth(params), broadcast(params["size"], (count,)))
        values = self.contact.resolve(params)
        own = {name: broadcast(values[name], (count,)) for name in self.contact.names}
        return LinkContact(self.layout, self._points, self.contact, self.joint_frames(params), *grown, own)

    def _growth(self, params: Params) -> Tensor:
        """Return the length (links,) of each link minus its initial length [m]."""
        return broadcast(params["length"], (len(self.links),)) - self._lengths.to(params.dtype)

    def _passive(self, params: Params) -> Tensor:
        """Return (trees, du, 11): springs, damping, friction, limits and servo gains of the joints."""
        count = (len(self.layout.dofs),)
        parts = [
            self.layout.by_velocity(broadcast(params[name], count), otherwise)
            for name, otherwise in zip(PASSIVE, PADDING, strict=True)
        ]
        return torch.stack(parts, dim=-1)

    def _commands(self, params: Params, control: Control) -> Tensor:
        """Return (1 or steps, trees, du, 3): torque, target position and target velocity of the motors."""
        count = (len(self.layout.dofs),)
        parts = [self.layout.by_velocity(get_step_values(name, params, control, count)) for name in COMMANDS]
        steps = max(len(part) for part in parts)
        return torch.stack([part.expand(steps, -1, -1) for part in parts], dim=-1)

    def poses(self, trajectory: Trajectory, params: Params) -> tuple[Tensor, Tensor]:
        """Return axes (frames, links, 3, 3) and origins (frames, links, 3) [m] of all links, differentiable.

        Args:
            trajectory: States.
            params: Parameters of the model.
        """
        return link_poses(self.layout, self.joint_frames(params), trajectory.q)

    def suggested_dt(self, params: Params | None = None) -> float:
        """Return a step length [s] for explicit integrators, from the elasticity at the start and contact with the
        ground.

        Args:
            params: Parameters of the model; its defaults if None.
        """
        given = self.params(torch.float64) if params is None else params
        # A force on several points of a link turns it too, so a point moves more easily than the whole link.
        lightest = 0.25 * float(self.ten_numbers(given)[:, 0].detach().min())
        return suggest_explicit_step(self, given, self.contact if self.ground else None, max(lightest, 1e-9))

    def surface(self, trajectory: Trajectory, params: Params) -> Surface:
        if self._surface is None:
            self._surface = build_surface(self.links)
        turns, origins = self.poses(trajectory, params)
        if "size" not in params:
            return self._surface.pose(turns, origins, self._growth(params))
        size = broadcast(params["size"], (len(self.links),))
        return self._surface.pose(turns, origins, self._growth(params), size, self._points.middle)

    def copies(self, count: int) -> ArticulatedModel:
        """Return a model of ``count`` copies of the one tree, which do not touch each other: many runs in one rollout.

        Raises:
            InputError: The model has several trees, or a tree of ball joints on a fixed base.
        """
        if len(self.trees) != 1:
            raise InputError(f"copies: got a model of {len(self.trees)} trees; expected one")
        measured_motion.check_base(self.trees[0])
        return ArticulatedModel(
            self.trees * count, ground=self.ground, touches=self.touches, contact=self.contact,
            self_contact=self.self_contact,
        )  # fmt: skip

    def copied_values(self, values: Mapping[str, Any]) -> dict[str, Tensor]:
        """Return the parameters of all copies from those of one; ``mass[1]`` or ``mass[forearm]`` is one row."""
        specs = {spec.name: spec for spec in self.specs}
        return measured_motion.copied_values(self.trees[0], specs, self.axes, len(self.trees), values)

    def start_values(self, start: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return parameters with which copies start at measured poses and velocities (see
        measured_motion.start_values).
        """
        return measured_motion.start_values(start, measured_motion.is_fixed(self.trees[0]))

    def check_recording(self, joints: int, fixed: bool) -> None:
        """Raise unless a recording fits the trees.

        Args:
            joints: Number of recorded joints.
            fixed: True if the recorded base is fixed.

        Raises:
            InputError: The tree has another base or another number of joints.
        """
        measured_motion.check_recording(self.trees[0], joints, fixed)

    def frames(self, trajectory: Trajectory, params: Params) -> Tensor:
        """Return the pose (frames, trees, 7) of each tree's first link, in a free joint: position [m] and quaternion
        w, x, y, z; on a fixed base that of the origin.
        """
        return measured_motion.base_frames(self.layout, trajectory.q)

    def joint_coordinates(self, trajectory: Trajectory) -> Tensor:
        """Return the coordinates (frames, trees, joints) [rad] of the joints beyond the first links."""
        return measured_motion.joint_coordinates(self.layout, trajectory.q)

    def heights(self, params: Params) -> Tensor:
        """Return the height (trees,) [m] of each tree's lowest contact point over the ground, at the start."""
        q = self.initial_state(params).q[None]
        turns, origins = (x[0] for x in link_poses(self.layout, self.joint_frames(params), q))
        return self._points.heights(self.layout, turns, origins, params)

    def dof(self, link: str, number: int = 0) -> int:
        """Return the index in "dofs" of a velocity of a joint.

        Args:
            link: Name of the link that the joint carries.
            number: Index of the velocity within the joint.

        Raises:
            InputError: No link has this name.
        """
        first = 0
        for each in self.links:
            if each.name == link:
                return first + number
            first += VELOCITIES[each.joint]
        raise InputError(f"no link is called {link!r}; there are {', '.join(each.name for each in self.links)}")
