"""Air resistance as a registered term, for rigid bodies."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, final

from torch import Tensor

from diffloom.fixed_order import broadcast
from diffloom.interfaces import ParamSpec
from diffloom_mechanics import ForceTerm, TermContext
from diffloom_mechanics.terms import NodeTerm

if TYPE_CHECKING:
    from diffloom_mechanics.node_sets import NodeSet

_POSITIVE = (0.0, None)
#: Density of air at 20 degrees [kg/m^3].
DENSITY = 1.2


@final
@dataclass(frozen=True)
class Air(ForceTerm):
    """Drag -(c1 + c2 |w|) w, Magnus lift s omega x w, buoyancy and a torque -d omega on rigid bodies.

    w is the velocity of the body relative to the air, omega its angular velocity. A ball of volume V displaces the mass
    a = density x V of air, and accelerates a / 2 with it: add this mass to the body's, and give 3/2 a g as the buoyancy
    (``around_ball`` does both).

    Args:
        linear_drag: c1 [N s/m].
        quadratic_drag: c2 [N s^2/m^2]; C_d (density / 2) pi R^2 for a ball of radius R (``of_ball``).
        lift: s [N s^2/(m rad)].
        angular_damping: d [N m s/rad].
        wind: Velocity of the air [m/s].
        buoyancy: Force against gravity [N].
    """

    linear_drag: float = 0.0
    quadratic_drag: float = 0.01
    lift: float = 0.0
    angular_damping: float = 0.0
    wind: tuple[float, float, float] = (0.0, 0.0, 0.0)
    buoyancy: tuple[float, float, float] = (0.0, 0.0, 0.0)

    claims: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def of_ball(cls, radius: float, coefficient: float = 0.47, density: float = DENSITY) -> Air:
        """Return the air around a ball: c2 = C_d (density / 2) pi R^2. It has no buoyancy.

        Args:
            radius: R [m].
            coefficient: Drag coefficient C_d.
            density: Density of the air [kg/m^3].

        Returns:
            The term.
        """
        return cls(quadratic_drag=coefficient * 0.5 * density * math.pi * radius**2)

    @classmethod
    def around_ball(
        cls, radius: float, mass: float, coefficient: float = 0.47, density: float = DENSITY, gravity: float = 9.81
    ) -> tuple[Air, float]:
        """Return the air around a ball with buoyancy, and the mass of the ball with the air that moves along.

        Args:
            radius: Radius [m].
            mass: Mass of the ball [kg].
            coefficient: Drag coefficient.
            density: Density of the air [kg/m^3].
            gravity: Acceleration [m/s^2] towards -y.

        Returns:
            The term, and the mass [kg] to give to the body.
        """
        displaced = density * 4.0 / 3.0 * math.pi * radius**3
        drag = coefficient * 0.5 * density * math.pi * radius**2
        air = cls(quadratic_drag=drag, buoyancy=(0.0, 1.5 * displaced * gravity, 0.0))
        return air, mass + 0.5 * displaced

    @classmethod
    def example(cls, context: TermContext) -> Air:
        """Return a strong wind.

        Args:
            context: Model and nodes.

        Returns:
            The term.
        """
        mass = float(context.masses.detach().max())
        return cls(
            0.3 * mass, 0.2 * mass, 0.1 * mass, 0.02 * mass, (1.5, 0.4, -0.8), (0.1 * mass, 0.7 * mass, 0.2 * mass)
        )

    @property
    def specs(self) -> tuple[ParamSpec, ...]:
        each = ("nodes",)
        return (
            ParamSpec("linear_drag", self.linear_drag, "N s/m", "drag per speed", each, _POSITIVE),
            ParamSpec("quadratic_drag", self.quadratic_drag, "N s^2/m^2", "drag per squared speed", each, _POSITIVE),
            ParamSpec("lift", self.lift, "N s^2/(m rad)", "Magnus force per speed and angular velocity", each),
            ParamSpec(
                "angular_damping", self.angular_damping, "N m s/rad", "torque per angular velocity", each, _POSITIVE
            ),
            ParamSpec("wind", self.wind, "m/s", "velocity of the air", (3,)),
            ParamSpec("buoyancy", self.buoyancy, "N", "force of the air at rest", (3,)),
        )

    @classmethod
    def refuses(cls, nodes: NodeSet) -> str | None:
        if (nodes.name, nodes.dq, nodes.du) == ("bodies", 7, 6):
            return None
        return f"air acts on rigid bodies (as in rigid); these nodes are {nodes.name!r}"

    def term(self, name: str, params: Mapping[str, Tensor], context: TermContext) -> NodeTerm:
        from diffloom_mechanics import air_kernels as kernels

        count = context.count
        own = ("linear_drag", "quadratic_drag", "lift", "angular_damping")
        rows = tuple((key, broadcast(params[key], (count,))) for key in own)
        return NodeTerm(
            name,
            force=kernels.body_air,
            adjoint=kernels.body_air_adjoint,
            params=(*rows, *((key, broadcast(params[key], (count, 3))) for key in ("wind", "buoyancy"))),
            on=context.on,
        )
