"""How the nodes of a set touch other bodies: what a model tells, and what contact between bodies is made from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from diffloom_mechanics.contact.point_clusters import ContactPoints

if TYPE_CHECKING:
    from torch import Tensor

    from diffloom_mechanics.carried_bodies import CarriedBodies
    from diffloom_mechanics.node_sets import NodeSet

#: Kinds of shapes, as body_shape_kernels numbers them.
KINDS = {"sphere": 0, "box": 1, "capsule": 2, "mesh": 3}


@dataclass(frozen=True)
class BodyShapes:
    """The shapes of all bodies of a node set as arrays for the kernels.

    kind: (bodies,) of KINDS. dims: (bodies, 3) sizes of exact shapes [m]. low, high: (bodies, 3) bounding boxes [m].
    grid_start: (bodies,) where a mesh's distances begin in grid_values; grid_size, grid_origin, grid_cell: its grid.
    """

    kind: NDArray[np.int32]
    dims: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    grid_start: NDArray[np.int32]
    grid_size: NDArray[np.int32]
    grid_origin: NDArray[np.float64]
    grid_cell: NDArray[np.float64]
    grid_values: NDArray[np.float64]

    @property
    def arrays(self) -> tuple[NDArray[np.generic], ...]:
        """In the order in which the kernels take them."""
        return (
            self.kind, self.dims, self.low, self.high, self.grid_start, self.grid_size, self.grid_origin,
            self.grid_cell, self.grid_values,
        )  # fmt: skip


@dataclass(frozen=True)
class TouchingBodies:
    """Rigid bodies (q: place and unit quaternion, u: velocity and angular velocity) that touch others.

    points: where they do; reach is -inf for a body that touches nothing. shapes(margin): their signed distances, known
    up to ``margin`` [m] outside. share(): (bodies,) what part of a parameter that counts for one point each of these
    points takes. Both are found when they are asked for: a body alone needs neither.
    carried: how nodes of another kind carry them, None where they are nodes themselves. values: contact parameters
    (bodies,) that are not the model's own by name.
    """

    points: ContactPoints
    shapes: Callable[[float], BodyShapes]
    share: Callable[[], NDArray[np.float64]]
    carried: CarriedBodies | None = None
    values: Mapping[str, Tensor] = field(default_factory=dict)


@dataclass(frozen=True)
class TouchingLinks:
    """Nodes that carry several bodies each, such as trees of links, and bring contact with a surface themselves.

    term(name, shape, pose, size, given, contact) -> NodeTerm, all as for an obstacle (`contact.obstacle`), with
    the contact parameters that are ``given``. roundest: the largest radius [m] of a ball around a touching point.
    bodies(): a node set that stands for what they carry, with TouchingBodies: terms between bodies are made for it, and
    carried_term puts them on the nodes themselves.
    """

    term: Callable[..., Any]
    roundest: float
    bodies: Callable[[], NodeSet]


@dataclass(frozen=True)
class TouchingSkin:
    """Particles whose triangles ``faces`` (faces, 3) touch others, and with their corners."""

    faces: NDArray[np.int32]
