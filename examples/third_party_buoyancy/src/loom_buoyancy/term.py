"""Buoyancy as a term that any model of particles may use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import final

import torch
from torch import Tensor

from diffloom.fixed_order import broadcast
from diffloom.interfaces import ParamSpec
from diffloom_mechanics import ForceTerm, NodeSet, NodeTerm, TermContext

_POSITIVE = (0.0, None)


def water_specs() -> tuple[ParamSpec, ...]:
    """The parameters of the water, to be listed among a model's own."""
    return (
        ParamSpec("water_density", 1000.0, "kg/m^3", "mass of the water per volume", bounds=_POSITIVE),
        ParamSpec("water_drag", 4.0, "N s/m", "drag per speed of a ball that is wholly under", bounds=_POSITIVE),
        ParamSpec("water_level", 0.0, "m", "height of the water at rest"),
        ParamSpec("wave_height", 0.05, "m", "amplitude of the wave, which runs along x"),
        ParamSpec("wavenumber", 6.0, "rad/m", "2 pi over the wave's length"),
        ParamSpec("wave_frequency", 7.0, "rad/s", "2 pi over the wave's period"),
    )


def buoyancy(radius: Tensor, gravity: Tensor, params: Mapping[str, Tensor], name: str = "buoyancy") -> NodeTerm:
    """Lift and drag of balls in wavy water.

    radius: (nodes,) [m]. gravity: (3,) [m/s^2], of which the part along -y presses the water. params: what
    ``water_specs`` declares.
    """
    # Imported here, so that numba is loaded when something runs and not when plugins are listed.
    from loom_buoyancy.kernels import buoyancy_force, buoyancy_force_adjoint

    count = (len(radius),)
    names = ("water_drag", "water_level", "wave_height", "wavenumber", "wave_frequency")
    return NodeTerm(
        name,
        force=buoyancy_force,
        adjoint=buoyancy_force_adjoint,
        params=(
            ("radius", radius),
            ("weight", broadcast(-params["water_density"] * gravity[1], count)),
            *((key, broadcast(params[key], count)) for key in names),
        ),
    )


@final
@dataclass(frozen=True)
class Buoyancy(ForceTerm):
    """Buoyancy for any model of particles, each of which displaces water as a ball. radius: of the balls [m]; level:
    height of the water at rest [m]. The water is pressed by the model's own gravity."""

    radius: float = 0.05
    level: float = 0.0

    @classmethod
    def example(cls, context: TermContext) -> Buoyancy:
        """Water up to the middle of what starts."""
        q = context.start.q.detach()
        return cls(0.3 * float((q - q.mean(dim=0)).norm(dim=1).max()), float(q[:, 1].mean()))

    @property
    def specs(self) -> tuple[ParamSpec, ...]:
        water = [replace(s, default=self.level) if s.name == "water_level" else s for s in water_specs()]
        return (ParamSpec("radius", self.radius, "m", "of the ball around each node", ("nodes",), _POSITIVE), *water)

    @classmethod
    def refuses(cls, nodes: NodeSet) -> str | None:
        if nodes.name == "particles":
            return None
        return f"particles float (as in springs, cloth and fem); these nodes are {nodes.name!r}"

    def term(self, name: str, params: Mapping[str, Tensor], context: TermContext) -> NodeTerm:
        gravity = context.params.get("gravity", torch.tensor([0.0, -9.81, 0.0], dtype=context.dtype))
        made = buoyancy(broadcast(params["radius"], (context.count,)), gravity, params, name)
        return replace(made, on=context.on)
