"""The term "ball"."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, final

import torch
from torch import Tensor

from diffloom.interfaces import ParamSpec
from diffloom_mechanics import ForceTerm, NodeSet, NodeTerm, TermContext
from diffloom_mechanics.contact import ObstaclePose, ObstacleShape, make_obstacle_specs, obstacle, refuse_obstacles


@final
@dataclass(frozen=True)
class Ball(ForceTerm):
    """A ball that does not move. radius, centre [m]: where the parameters of these names start.

    Stiffness, damping and friction of the contact are the model's own, as for its ground, unless they are given.
    """

    radius: float = 0.5
    centre: tuple[float, float, float] = (0.0, 0.0, 0.0)

    #: Properties that the conformance suite checks, and values for parameters that the example leaves to the model.
    claims: ClassVar[tuple[str, ...]] = ("conservative", "dissipative")
    variants: ClassVar[tuple[Mapping[str, float], ...]] = (
        {"contact_stiffness": 2e3},
        {"contact_dissipation": 0.3},
        {"friction_stiffness": 0.2},
        {"friction": 0.01},
    )

    @classmethod
    def example(cls, context: TermContext) -> Ball:
        """A ball around the lowest node, so that it is touched at once."""
        q = context.start.q.detach()[:, :3]
        lowest = q[q[:, 1].argmin()]
        radius = 0.5 * float((q - q.mean(dim=0)).norm(dim=1).max())
        x, y, z = (lowest - torch.tensor([0.1, 0.9, 0.2]) * radius).tolist()
        return cls(radius, (x, y, z))

    @property
    def specs(self) -> tuple[ParamSpec, ...]:
        return (
            ParamSpec("radius", self.radius, "m", "of the ball", bounds=(0.0, None)),
            ParamSpec("centre", self.centre, "m", "where its middle is", (3,)),
            *make_obstacle_specs(),
        )

    @classmethod
    def refuses(cls, nodes: NodeSet) -> str | None:
        return refuse_obstacles(nodes)

    def term(self, name: str, params: Mapping[str, Tensor], context: TermContext) -> NodeTerm:
        # Imported here, so that numba is loaded when something runs and not when plugins are listed.
        from loom_sphere.kernels import ball_distance, ball_distance_adjoint

        shape = ObstacleShape(ball_distance, ball_distance_adjoint)
        return obstacle(name, shape, ObstaclePose(params["centre"]), params["radius"].reshape(1), params, context)
