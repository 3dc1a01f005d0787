"""The model that the fixtures offer: small, quick, and with something of everything."""

from __future__ import annotations

from collections.abc import Mapping
from typing import final

import numpy as np
import torch

from diffloom.fixed_order import broadcast
from diffloom.interfaces import Control, ExampleSettings, Model, Params, ParamSpec, State, Surface, Trajectory
from diffloom_mechanics import Mechanics, applied, particles, per_step, springs
from diffloom_testing.scenes import octahedron_faces

_PAIRS = np.array([[0, 1], [1, 2]], dtype=np.int32)
_START = torch.tensor([[0.0, 0.5, 0.0], [0.3, 0.3, 0.1], [0.6, 0.0, 0.0]], dtype=torch.float64)
_SPEED = torch.tensor([[0.2, 0.0, -0.1], [-0.3, 0.4, 0.0], [0.0, -0.2, 0.5]], dtype=torch.float64)
_AXES = torch.eye(3, dtype=torch.float64)


@final
class ToyChain(Model):
    """Three particles on two damped springs, drawn as little octahedra. radius: of these [m]."""

    example_settings = ExampleSettings(
        dt=1e-2,
        steps=12,
        fit="stiffness",
        rest={"gravity": (0.0, 0.0, 0.0), "velocity": (0.0, 0.0, 0.0)},
        claims=("translation", "rotation", "boost", "momentum", "angular_momentum"),
    )

    def __init__(self, radius: float = 0.12) -> None:
        self.radius = radius

    @classmethod
    def example(cls) -> ToyChain:
        """Itself."""
        return cls()

    @property
    def specs(self) -> tuple[ParamSpec, ...]:
        lengths = (_START[1:] - _START[:-1]).norm(dim=1)
        return (
            ParamSpec("mass", 0.2, "kg", "mass of each particle", ("particles",), (0.0, None)),
            ParamSpec("stiffness", 30.0, "N/m", "force per stretch", ("springs",), (0.0, None)),
            ParamSpec("damping", 0.1, "N s/m", "force per rate of stretch", ("springs",), (0.0, None)),
            ParamSpec("rest_length", lengths, "m", "length without force", ("springs",), (0.0, None)),
            ParamSpec("velocity", _SPEED, "m/s", "at the start", ("particles", 3)),
            ParamSpec("gravity", (0.0, -9.81, 0.0), "m/s^2", "acceleration of free fall", (3,)),
            ParamSpec("force", 0.0, "N", "external force", ("particles", 3), per_step=True),
        )

    @property
    def axes(self) -> Mapping[str, int]:
        return {"particles": 3, "springs": 2}

    def initial_state(self, params: Params) -> State:
        return State(_START.to(params.dtype), broadcast(params["velocity"], (3, 3)))

    def dynamics(self, params: Params, control: Control) -> Mechanics:
        law = particles(broadcast(params["mass"], (3,)), params["gravity"])
        net = springs(_PAIRS, params["stiffness"], params["damping"], params["rest_length"])
        return Mechanics(law, (net, applied(per_step("force", params, control, (3, 3)))))

    def surface(self, trajectory: Trajectory, params: Params) -> Surface:
        corners = self.radius * torch.stack([_AXES, -_AXES], dim=1).reshape(6, 3).to(trajectory.q.dtype)
        vertices = (trajectory.q[:, :, None, :] + corners).reshape(len(trajectory), -1, 3)
        offsets = 6 * torch.arange(3)[:, None, None]
        return Surface(vertices, (octahedron_faces()[None] + offsets).reshape(-1, 3))
