"""The model "pendulum": bobs on stiff rods that swing in a plane, each for itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import final

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
from diffloom_mechanics import Mechanics, get_step_values
from loom_pendulum.system import pendulums, swing


@final
class PendulumModel(Model):
    """Planar pendulums in a row along x, hung up at height 0. Angle 0 hangs down, positive angles swing towards +x.

    count: how many. spacing: between their pivots [m]. bob, rod: drawn radii [m].
    """

    example_settings = ExampleSettings(
        dt=0.02,
        steps=40,
        fit="length",
        rest={"angle": 0.0, "rate": 0.0, "torque": 0.0},
    )

    def __init__(self, count: int = 1, spacing: float = 0.6, bob: float = 0.12, rod: float = 0.02) -> None:
        if count < 1:
            raise InputError(f"count: got {count}; expected 1 or more pendulums")
        self._pivots = spacing * (torch.arange(count, dtype=torch.float64) - 0.5 * (count - 1))
        ball = trimesh.creation.icosphere(subdivisions=2, radius=bob)
        upright = trimesh.transformations.rotation_matrix(-torch.pi / 2, (1, 0, 0))
        bar = trimesh.creation.cylinder(rod, 1.0, sections=8, transform=upright)
        # For each vertex: its place across and along the rod, and how far along the rod it moves per length.
        places = torch.cat([torch.tensor(ball.vertices.copy()), torch.tensor(bar.vertices.copy())])
        self._share = torch.ones(len(places), dtype=torch.float64)
        self._share[len(ball.vertices) :] = 0.5 - places[len(ball.vertices) :, 1]
        places[len(ball.vertices) :, 1] = 0.0
        self._places = places
        self._faces = torch.cat([torch.tensor(ball.faces), torch.tensor(bar.faces) + len(ball.vertices)])

    @classmethod
    def example(cls) -> PendulumModel:
        """Two pendulums."""
        return cls(count=2)

    @property
    def specs(self) -> tuple[ParamSpec, ...]:
        each, positive = ("pendulums",), (0.0, None)
        return (
            ParamSpec("length", 1.0, "m", "from the pivot to the middle of the bob", each, (1e-3, None)),
            ParamSpec("mass", 0.5, "kg", "mass of the bob; the rod has none", each, (1e-6, None)),
            ParamSpec("gravity", 9.81, "m/s^2", "acceleration of free fall, downwards", each, positive),
            ParamSpec("damping", 0.02, "N m s/rad", "friction torque per rate", each, positive),
            ParamSpec("angle", 0.9, "rad", "from the vertical, at the start", each),
            ParamSpec("rate", 0.3, "rad/s", "of the angle, at the start", each),
            ParamSpec("torque", 0.0, "N m", "of a motor at the pivot", each, per_step=True),
        )

    @property
    def axes(self) -> Mapping[str, int]:
        return {"pendulums": len(self._pivots)}

    def initial_state(self, params: Params) -> State:
        shape = (len(self._pivots),)
        return State(broadcast(params["angle"], shape)[:, None], broadcast(params["rate"], shape)[:, None])

    def dynamics(self, params: Params, control: Control) -> Mechanics:
        shape = (len(self._pivots),)
        mass, length, gravity, damping = (broadcast(params[k], shape) for k in ("mass", "length", "gravity", "damping"))
        torque = get_step_values("torque", params, control, shape)
        return Mechanics(pendulums(mass * length**2), (swing(mass * gravity * length, damping, torque),))

    def surface(self, trajectory: Trajectory, params: Params) -> Surface:
        angle = trajectory.q[:, :, 0, None]
        across, along, deep = self._places.to(angle.dtype).unbind(1)
        below = broadcast(params["length"], (len(self._pivots),))[:, None] * self._share.to(angle.dtype) - along
        sine, cosine = torch.sin(angle), torch.cos(angle)
        x = self._pivots.to(angle.dtype)[:, None] + cosine * across + sine * below
        y = sine * across - cosine * below
        vertices = torch.stack([x, y, deep.expand_as(x)], dim=-1)
        first = len(self._places) * torch.arange(len(self._pivots))[:, None, None]
        return Surface(vertices.reshape(len(angle), -1, 3), (self._faces[None] + first).reshape(-1, 3))
