"""The model "buoys": balls on a rope that float on waves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import final

import numpy as np
import torch
import trimesh

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
from diffloom_mechanics import Mechanics, particles, springs
from loom_buoyancy.term import buoyancy, water_specs


@final
class BuoysModel(Model):
    """A row of buoys along x, each tied to the next; the rope is the spring term of diffloom's core.

    count: how many. spacing: between them at the start [m].
    """

    example_settings = ExampleSettings(
        dt=0.005,
        steps=60,
        fit="wave_height",
        # Half under water, as heavy as the water they displace: the density of a buoy is half of water's.
        rest={"wave_height": 0.0, "velocity": 0.0, "density": 500.0, "height": 0.0},
    )

    def __init__(self, count: int = 6, spacing: float = 0.25) -> None:
        if count < 2:
            raise InputError(f"count: got {count}; expected 2 or more buoys")
        x = spacing * (torch.arange(count, dtype=torch.float64) - 0.5 * (count - 1))
        self._start = torch.stack([x, torch.zeros_like(x), torch.zeros_like(x)], dim=1)
        self._pairs = np.array([(i, i + 1) for i in range(count - 1)], dtype=np.int32)
        self._spacing = spacing
        ball = trimesh.creation.icosphere(subdivisions=1)
        self._ball = torch.tensor(ball.vertices, dtype=torch.float64)
        self._faces = torch.tensor(ball.faces, dtype=torch.int64)

    @classmethod
    def example(cls) -> BuoysModel:
        """Three buoys."""
        return cls(count=3)

    @property
    def specs(self) -> tuple[ParamSpec, ...]:
        each, positive = ("buoys",), (0.0, None)
        return (
            ParamSpec("radius", 0.07, "m", "of each buoy", each, (1e-3, None)),
            ParamSpec("density", 420.0, "kg/m^3", "mass of each buoy per volume", each, positive),
            ParamSpec("rope_stiffness", 200.0, "N/m", "pull of the rope per stretch", ("ropes",), positive),
            ParamSpec("rope_damping", 1.0, "N s/m", "pull of the rope per rate of stretch", ("ropes",), positive),
            ParamSpec("rope_length", self._spacing, "m", "length of the rope without pull", ("ropes",), positive),
            ParamSpec("height", 0.02, "m", "of each buoy's middle over the origin at the start", each),
            ParamSpec("velocity", 0.0, "m/s", "at the start", ("buoys", 3)),
            ParamSpec("gravity", (0.0, -9.81, 0.0), "m/s^2", "acceleration of free fall", (3,)),
            *water_specs(),
        )

    @property
    def axes(self) -> Mapping[str, int]:
        return {"buoys": len(self._start), "ropes": len(self._pairs)}

    def initial_state(self, params: Params) -> State:
        count = len(self._start)
        up = torch.tensor([0.0, 1.0, 0.0], dtype=params.dtype)
        q = self._start.to(params.dtype) + broadcast(params["height"], (count,))[:, None] * up
        return State(q, broadcast(params["velocity"], (count, 3)))

    def dynamics(self, params: Params, control: Control) -> Mechanics:
        radius = broadcast(params["radius"], (len(self._start),))
        mass = broadcast(params["density"], (len(self._start),)) * (4.0 / 3.0 * torch.pi) * radius**3
        rope = springs(self._pairs, params["rope_stiffness"], params["rope_damping"], params["rope_length"], "rope")
        return Mechanics(particles(mass, params["gravity"]), (rope, buoyancy(radius, params["gravity"], params)))

    def surface(self, trajectory: Trajectory, params: Params) -> Surface:
        radius = broadcast(params["radius"], (len(self._start),))
        balls = trajectory.q[:, :, None, :] + radius[:, None, None] * self._ball.to(trajectory.q.dtype)
        first = len(self._ball) * torch.arange(len(self._start))[:, None, None]
        return Surface(balls.reshape(len(trajectory), -1, 3), (self._faces[None] + first).reshape(-1, 3))
