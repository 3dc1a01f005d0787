"""Contact of links with the ground and with obstacles, as terms on trees."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from diffloom.fixed_order import broadcast
from diffloom.interfaces import InputError, Params, ParamSpec
from diffloom.validation import suggest_name
from diffloom_mechanics import NodeTerm
from diffloom_mechanics.contact import (
    DEFAULT_REFERENCE_SPEED,
    DEFAULT_RESTITUTION,
    ContactLaw,
    ObstaclePose,
    ObstacleShape,
    normalise_normal,
    pack_contact_rows,
    resolve_contact_law,
)
from diffloom_physics_articulated.layout import TreeLayout
from diffloom_physics_articulated.link import Link, Tree
from diffloom_physics_articulated.link_points import LinkPoints

SAG = 1e-3  # depth, relative to its reach, to which a tree on one point sinks
STANDARD_GRAVITY = 9.81


@dataclass(frozen=True)
class LinkContact:
    """Contact of the trees of a model for given parameters.

    Args:
        layout: Layout of the trees.
        where: Contact points of the links.
        law: Contact law.
        frame: Joints in their parents' axes (trees, rows, 7).
        points: Contact points, as LinkPoints.grow returns them.
        roundness: Their radii, from LinkPoints.grow.
        middle: Balls around the points of each link, from LinkPoints.grow.
        values: Contact parameters of the law (links,).
    """

    layout: TreeLayout
    where: LinkPoints
    law: ContactLaw
    frame: Tensor
    points: Tensor
    roundness: Tensor
    middle: Tensor
    values: Mapping[str, Tensor]

    @property
    def roundest(self) -> float:
        """Largest radius [m] of a ball around a point."""
        return float(self.where.roundness.max(initial=0.0))

    def ground(self, params: Params) -> NodeTerm:
        """Return the contact term with the plane n.x = ground_height."""
        from diffloom_mechanics.contact.kernels import plane_distance, plane_distance_adjoint

        normal = normalise_normal(params["ground_normal"])
        blank = np.zeros((self.layout.trees, 1))
        plane = ObstacleShape(plane_distance, plane_distance_adjoint, blank.astype(np.int32), blank)
        pose = ObstaclePose(normal * params["ground_height"])
        return replace(self.term("ground", plane, pose, normal, {}, None), by_node=True)

    def term(
        self,
        name: str,
        shape: ObstacleShape,
        pose: ObstaclePose,
        size: Tensor,
        given: Mapping[str, Tensor],
        contact: object = None,
    ) -> NodeTerm:
        """Return the contact term with the surface of an obstacle.

        Args:
            name: Name of the term.
            shape: Distance functions of the obstacle.
            pose: Pose of the obstacle.
            size: Sizes of the obstacle.
            given: Contact parameters of the pair, one for all trees or one each; the remaining ones are those of the
                links.
            contact: Contact law; by default that of the model.
        """
        from diffloom_physics_articulated.link_contact_kernels import contact_space, link_contact

        layout, count = self.layout, self.layout.trees
        law = self.law if contact is None else resolve_contact_law(contact)
        force, adjoint = link_contact(
            shape.distance, shape.adjoint, *law.device_functions(), layout.balls, layout.scalars,
            layout.rows,
        )  # fmt: skip
        turn = torch.eye(3, dtype=self.frame.dtype) if pose.turn is None else pose.turn
        return NodeTerm(
            name,
            force=force,
            adjoint=adjoint,
            constants=(
                layout.table, self.where.starts, np.full((count, 1), shape.slope), shape.layout, shape.table
            ),
            params=(
                ("frame", self.frame.reshape(count, -1)),
                ("points", self.points),
                ("roundness", self.roundness),
                ("middle", self.middle),
                ("place", broadcast(pose.place, (count, 3))),
                ("turn", broadcast(turn.reshape(9), (count, 9))),
                ("size", broadcast(size, (count, len(size)))),
                *self._rows(law, given),
            ),
            work=(((count, contact_space(layout.balls, layout.scalars, layout.rows)), "float"),),
        )  # fmt: skip

    def _rows(self, law: ContactLaw, given: Mapping[str, Tensor]) -> tuple[tuple[str, Tensor], ...]:
        """Return the parameters (trees, rows, parameters) of the normal law and of the friction law."""
        links = len(self.layout.mass_rows)
        tree = torch.from_numpy(self.layout.mass_rows // self.layout.rows)
        pair = {name: value[tree] if value.dim() else value for name, value in law.resolve(given).items()}
        told = {name: pair.get(name, self.values.get(name)) for name in law.names}
        missing = [name for name, value in told.items() if value is None]
        if missing:
            raise InputError(f"contact: the law {type(law).__name__} needs {', '.join(missing)}; the links have "
                             f"{', '.join(self.values)}: give them, or make the model with the same law")  # fmt: skip
        rows = pack_contact_rows(law, {name: value for name, value in told.items() if value is not None}, links)
        return tuple(
            (name, self.layout.by_row(value, self.layout.mass_rows, (0.0,) * value.shape[1])) for name, value in rows
        )


def build_contact_specs(law: ContactLaw, trees: Sequence[Tree]) -> tuple[ParamSpec, ...]:
    """Return the contact parameters of each link, with defaults from its table, or from the masses and sizes of its
    tree.
    """
    known = [*law.names, *(spec.name for spec in law.extra_specs)]
    rows = []
    for tree in trees:
        for link in tree.links:
            for key in link.contact:
                if key not in known:
                    raise InputError(f"link {link.name!r}: contact: unknown key {key!r}{suggest_name(key, known)}; "
                                     f"the law has {', '.join(known)}")  # fmt: skip
            rows.append(derive_contact(law, tree, link))
    column = {name: torch.tensor([row[name] for row in rows], dtype=torch.float64) for name in law.names}
    each = ("links",)
    return (
        *(replace(spec, default=column[spec.name], shape=each) for spec in law.specs),
        *(replace(spec, shape=each) for spec in law.extra_specs),
        ParamSpec("ground_height", 0.0, "m", "offset of the ground plane along its normal"),
        ParamSpec("ground_normal", (0.0, 1.0, 0.0), "", "normal of the ground plane, of any length", (3,)),
        ParamSpec("size", torch.ones(len(rows), dtype=torch.float64), "", "factor on the shapes with which each link "
                  "touches and is drawn, about their middle; mass and inertia do not follow", each, (1e-6, None)),
    )  # fmt: skip


def derive_contact(law: ContactLaw, tree: Tree, link: Link) -> dict[str, float]:
    """Return the default contact parameters of a link: a tree of mass M on one point sinks by a thousandth of the
    reach.
    """
    given = link.contact
    total = max(sum(each.mass for each in tree.links), 1e-6)
    every = [piece.vertices for piece in link.pieces if len(piece.points)]
    reach = float(np.ptp(np.concatenate(every), axis=0).max()) / 2.0 if every else 1.0
    stiffness = given.get("contact_stiffness", total * STANDARD_GRAVITY / (SAG * reach) / 2.0)
    usual = {spec.name: float(spec.default) for spec in law.specs} | {
        "contact_stiffness": stiffness,
        law.damping_name: law.damping(
            given.get("restitution", DEFAULT_RESTITUTION),
            given.get("reference_speed", DEFAULT_REFERENCE_SPEED),
            stiffness,
            total,
        ),
        "friction_stiffness": math.sqrt(stiffness * (link.mass or total)),
    }
    return {name: given.get(name, usual[name]) for name in law.names}
