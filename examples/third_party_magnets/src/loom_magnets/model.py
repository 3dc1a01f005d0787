"""The model "magnets": upright magnets that float, repel each other and are drawn to the middle."""

from __future__ import annotations

from collections.abc import Mapping
from typing import final

import torch
import trimesh
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
from diffloom_mechanics import Mechanics, TorchTerm, particles
from loom_magnets.dipoles import dipoles


@final
class MagnetsModel(Model):
    """Magnets on corks in a bowl of water under a coil, after A. M. Mayer's experiment of 1878.

    count: how many magnets; they start on a spiral in the plane y = 0. radius: of the discs they are drawn as [m].
    """

    example_settings = ExampleSettings(
        dt=0.01,
        steps=30,
        fit="moment",
        # Without coil and water only the dipoles act. They keep their direction, so they may exert a torque.
        free={"trap": 0.0, "drag": 0.0},
        claims=("translation", "boost", "momentum"),
    )

    def __init__(self, count: int = 5, radius: float = 0.01) -> None:
        if count < 2:
            raise InputError(f"count: got {count}; expected 2 or more magnets")
        turn = 2.4 * torch.arange(count, dtype=torch.float64)
        reach = 0.02 * (1.0 + torch.arange(count, dtype=torch.float64)).sqrt()
        self._start = torch.stack([reach * turn.cos(), torch.zeros_like(turn), reach * turn.sin()], dim=1)
        upright = trimesh.transformations.rotation_matrix(torch.pi / 2, (1, 0, 0))
        disc = trimesh.creation.cylinder(radius, 0.6 * radius, sections=12, transform=upright)
        self._disc = torch.tensor(disc.vertices, dtype=torch.float64)
        self._faces = torch.tensor(disc.faces, dtype=torch.int64)

    @classmethod
    def example(cls) -> MagnetsModel:
        """Four magnets."""
        return cls(count=4)

    @property
    def specs(self) -> tuple[ParamSpec, ...]:
        each, vectors = ("magnets",), ("magnets", 3)
        return (
            ParamSpec("mass", 0.003, "kg", "mass of a magnet and its cork", each, (0.0, None)),
            ParamSpec("moment", (0.0, 0.06, 0.0), "A m^2", "magnetic moment", vectors),
            ParamSpec("trap", 0.05, "N/m", "pull of the coil to the middle, per distance", each, (0.0, None)),
            ParamSpec("drag", 0.002, "N s/m", "drag of the water, per speed", each, (0.0, None)),
            ParamSpec("position", self._start, "m", "places at the start", vectors),
            ParamSpec("velocity", 0.0, "m/s", "velocities at the start", vectors),
        )

    @property
    def axes(self) -> Mapping[str, int]:
        return {"magnets": len(self._start)}

    def initial_state(self, params: Params) -> State:
        shape = tuple(self._start.shape)
        return State(broadcast(params["position"], shape), broadcast(params["velocity"], shape))

    def dynamics(self, params: Params, control: Control) -> Mechanics:
        count = len(self._start)
        nodes = particles(broadcast(params["mass"], (count,)), torch.zeros(3, dtype=params.dtype))
        rest = (("trap", broadcast(params["trap"], (count,))), ("drag", broadcast(params["drag"], (count,))))
        magnetic = dipoles(broadcast(params["moment"], (count, 3)))
        return Mechanics(nodes, (magnetic, TorchTerm("bowl", bowl_forces, rest)))

    def surface(self, trajectory: Trajectory, params: Params) -> Surface:
        discs = trajectory.q[:, :, None, :] + self._disc.to(trajectory.q.dtype)
        first = len(self._disc) * torch.arange(len(self._start))[:, None, None]
        return Surface(discs.reshape(len(trajectory), -1, 3), (self._faces[None] + first).reshape(-1, 3))


def bowl_forces(clock: object, q: Tensor, u: Tensor, trap: Tensor, drag: Tensor) -> Tensor:
    """The coil pulls to the middle, the water brakes: (nodes, 3) [N]."""
    return -trap[:, None] * q - drag[:, None] * u
