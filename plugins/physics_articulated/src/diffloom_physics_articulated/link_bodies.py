"""Shapes of links as carried bodies, which touch other bodies of a world."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from diffloom.interfaces import InputError
from diffloom.transforms import needs_gradient, unwrap_values
from diffloom_geometry import take
from diffloom_mechanics import CarriedBodies, NodeMotion, NodeSet
from diffloom_mechanics.contact import ShapeArrays, TouchingBodies, build_shape_arrays, cluster_points
from diffloom_physics_articulated.layout import Index, TreeLayout
from diffloom_physics_articulated.link import Link, PieceBody, Vector


@dataclass(frozen=True)
class LinkBodies:
    """All shapes in contact of all links, tree by tree.

    Args:
        bodies: The shapes.
        names: Names of all links.
        link: Number of each shape's link (bodies,).
        starts: First shape of each tree (trees + 1,).
        rows: Simple joint of each shape's link (bodies,).
        share: Part of a parameter per point that each point of a shape takes (bodies,).
        along: Shift of each shape per growth of its link (bodies, 3).
    """

    bodies: tuple[PieceBody, ...]
    names: tuple[str, ...]
    link: Index
    starts: NDArray[np.int32]
    rows: NDArray[np.int32]
    share: Vector
    along: Vector
    _found: dict[float | str, ShapeArrays | TouchingBodies] = field(default_factory=dict, compare=False)

    def node_set(
        self,
        layout: TreeLayout,
        frame: Tensor,
        mass: Tensor,
        growth: Tensor,
        size: Tensor,
        values: Mapping[str, Tensor],
    ) -> NodeSet:
        """Return a node set of the shapes.

        Args:
            layout: Layout of the trees.
            frame: Joints in their parents' axes (trees, rows, 7).
            mass: Masses (links,) [kg].
            growth: Lengths minus initial lengths (links,) [m].
            size: Scale factors (links,).
            values: Contact parameters (links,).
        """
        self._check_made(growth, size)
        own = take(mass.detach(), self.link)
        inverse = torch.where(own > 0.0, 1.0 / own.clamp(min=1e-30), torch.zeros_like(own))
        offset, turns = (np.array([getattr(body, name) for body in self.bodies]) for name in ("place", "turn"))
        place, along = torch.from_numpy(offset).to(frame), torch.from_numpy(self.along).to(frame)
        place = place + along * take(growth, self.link)[:, None]
        touches = replace(
            self._get_touching(),
            carried=carry_bodies(layout, self.starts, self.rows, turns, frame, place),
            values={name: take(value, self.link) for name, value in values.items()},
        )
        still = NodeMotion(None, None)  # trees move them
        return NodeSet("bodies", 7, 6, None, None, (("inverse_mass", inverse),), still, touches=touches)

    def _get_touching(self) -> TouchingBodies:
        """Return contact points and shapes without parameters; built once."""
        if "touching" not in self._found:
            points = cluster_points([b.points for b in self.bodies], [b.solid.roundness for b in self.bodies])
            self._found["touching"] = TouchingBodies(points, self._shapes, lambda: self.share)
        found = self._found["touching"]
        assert isinstance(found, TouchingBodies)
        return found

    def _shapes(self, margin: float) -> ShapeArrays:
        """Return the shapes as arrays, with distances up to ``margin`` [m] outside; built once for each margin."""
        if margin not in self._found:
            self._found[margin] = build_shape_arrays([body.solid for body in self.bodies], margin)
        found = self._found[margin]
        assert isinstance(found, ShapeArrays)
        return found

    def _check_made(self, growth: Tensor, size: Tensor) -> None:
        """Raise InputError if a shape would have to grow, because contact with other bodies uses the initial shapes."""
        scaled = needs_gradient(size) | (unwrap_values(size) != 1.0)
        grown = needs_gradient(growth) | (unwrap_values(growth) != 0.0)
        for body, link in zip(self.bodies, self.link.tolist(), strict=True):
            name = self.names[link]
            if bool(scaled[..., link].any()):
                raise InputError(f"link {name!r}: size: got a value other than 1, or one that requires a gradient; "
                                 "contact with bodies of a world uses the initial shapes: leave size out")  # fmt: skip
            if body.share is None and bool(grown[..., link].any()):
                raise InputError(f"link {name!r}: length: got another value than the initial one, or one that "
                                 "requires a gradient, but a shape that touches other bodies of a world cannot "
                                 "stretch: give the shape rides = true, or contact = 'none'")  # fmt: skip


def carry_bodies(
    layout: TreeLayout, starts: NDArray[np.int32], rows: NDArray[np.int32], turns: Vector, frame: Tensor, place: Tensor
) -> CarriedBodies:
    """Return carried bodies at ``place`` (bodies, 3) with axes turned by ``turns`` (bodies, 4), in their links'
    axes.
    """
    from diffloom_physics_articulated.link_body_kernels import carried_links
    from diffloom_physics_articulated.link_contact_kernels import contact_space

    space = contact_space(layout.balls, layout.scalars, layout.rows)
    place_bodies, move, force, adjoint = carried_links(layout.balls, layout.scalars, layout.rows)
    return CarriedBodies(
        len(rows),
        layout.trees,
        place_bodies,
        move,
        force,
        adjoint,
        constants=(layout.table, starts, rows, turns),
        params=(("frame", frame.reshape(layout.trees, -1)), ("offset", place)),
        work=(((layout.trees, space), "float"),),
    )


def carry_links(layout: TreeLayout, frame: Tensor) -> CarriedBodies:
    """Return the links themselves as carried bodies."""
    tree, row = np.divmod(layout.mass_rows, layout.rows)
    starts = np.concatenate([[0], np.cumsum(np.bincount(tree, minlength=layout.trees))]).astype(np.int32)
    turns = np.tile([1.0, 0.0, 0.0, 0.0], (len(row), 1))
    return carry_bodies(layout, starts, row.astype(np.int32), turns, frame, frame.new_zeros((len(row), 3)))


def link_bodies(links: Sequence[Link], layout: TreeLayout) -> LinkBodies:
    """Return the shapes in contact of all links."""
    tree, row = np.divmod(layout.mass_rows, layout.rows)
    found = [(n, piece) for n, link in enumerate(links) for piece in link.pieces if piece.body is not None]
    bodies = tuple(piece.body for _, piece in found if piece.body is not None)
    link = np.array([n for n, _ in found], dtype=np.int64)
    counts = np.bincount(tree[link], minlength=layout.trees) if len(found) else np.zeros(layout.trees, np.int64)
    return LinkBodies(
        bodies,
        tuple(each.name for each in links),
        link,
        np.concatenate([[0], np.cumsum(counts)]).astype(np.int32),
        row[link].astype(np.int32) if len(found) else np.zeros(0, np.int32),
        np.array(
            [math.sqrt(len(piece.points) / len(body.points)) for (_, piece), body in zip(found, bodies, strict=True)]
        ),
        np.array([(body.share or 0.0) * links[n].along for (n, _), body in zip(found, bodies, strict=True)]),
    )
