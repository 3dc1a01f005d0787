"""Small systems of each kind for checks of integrators, and the small model of the fixtures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import final

import numpy as np
import torch
from torch import Tensor

from diffloom.fixed_order import broadcast
from diffloom.interfaces import (
    Control,
    CustomStep,
    Dynamics,
    ExampleSettings,
    Model,
    Params,
    ParamSpec,
    State,
    Surface,
    Trajectory,
)
from diffloom_mechanics import Mechanics, TorchTerm, external_force, get_step_values, particles, springs
from diffloom_testing.scenes import octahedron_faces

#: A chain of three masses and two springs, pinned at its first mass.
PAIRS = np.array([[0, 1], [1, 2]], dtype=np.int32)
PINNED = np.array([True, False, False])


@dataclass(frozen=True)
class System:
    """A system built from named tensors.

    Args:
        name: Name for cases and messages.
        make: Returns the dynamics for a mapping of inputs.
        start: State at the start.
        inputs: Differentiable tensors of the system.
        period: Duration [s] of a typical motion.
        free: True if no outer force acts and nothing is pinned.
    """

    name: str
    make: Callable[[dict[str, Tensor]], Dynamics]
    start: State
    inputs: dict[str, Tensor]
    period: float
    free: bool = False

    def dynamics(self, dtype: torch.dtype = torch.float64) -> Dynamics:
        """Return the dynamics for the system's own inputs, in one precision."""
        return self.make({name: value.to(dtype) for name, value in self.inputs.items()})

    def state(self, dtype: torch.dtype = torch.float64) -> State:
        """Return the start in one precision."""
        return State(self.start.q.to(dtype), self.start.u.to(dtype))


def _t(*values: object) -> Tensor:
    """Return numbers as a float64 tensor."""
    return torch.tensor(values[0] if len(values) == 1 else values, dtype=torch.float64)


def _chain_inputs() -> dict[str, Tensor]:
    """Return the inputs of the chain."""
    return {
        "mass": _t(0.2, 0.3, 0.25),
        "gravity": _t(0.0, -9.81, 0.0),
        "stiffness": _t(40.0, 60.0),
        "damping": _t(0.2, 0.1),
        "rest_length": _t(0.4, 0.4),
    }


def _chain(inputs: dict[str, Tensor], pinned: bool = True) -> Mechanics:
    """Return a chain of masses and springs."""
    law = particles(inputs["mass"], inputs["gravity"], PINNED if pinned else None)
    return Mechanics(law, (springs(PAIRS, inputs["stiffness"], inputs["damping"], inputs["rest_length"]),))


def _drag(clock: object, q: Tensor, u: Tensor, drag: Tensor) -> Tensor:
    """Return a drag that grows with the cube of the velocity."""
    return -drag * u * (1.0 + u.square().sum(dim=1, keepdim=True))


def _with_drag(inputs: dict[str, Tensor]) -> Mechanics:
    """Return the pinned chain with a drag in PyTorch."""
    system = _chain(inputs)
    return Mechanics(system.nodes, (*system.terms, TorchTerm("drag", _drag, (("drag", inputs["drag"]),))))


def _own(inputs: dict[str, Tensor]) -> CustomStep:
    """Return a custom step of independent oscillators."""

    def step(k: int, dt: float, state: State) -> State:
        """Advance by one semi-implicit Euler step."""
        u = state.u - dt * inputs["stiffness"] * state.q
        return State(state.q + dt * u, u, state.time + dt)

    return CustomStep(step, tuple(inputs.values()))


PLACES = _t([[0.0, 1.0, 0.0], [0.5, 0.9, 0.1], [0.9, 0.7, 0.0]])
SPEEDS = _t([[0.0, 0.0, 0.0], [0.3, -0.2, 0.4], [-0.5, 0.1, 0.2]])

CHAIN = System("hanging chain", _chain, State(PLACES, SPEEDS), _chain_inputs(), 0.5)
DRAGGED = System(
    "chain with a PyTorch term", _with_drag, State(PLACES, SPEEDS), {**_chain_inputs(), "drag": _t(0.15)}, 0.5
)
FLYING = System(
    "flying chain",
    lambda inputs: _chain(inputs, pinned=False),
    State(PLACES, SPEEDS + 0.2),
    {**_chain_inputs(), "gravity": _t(0.0, 0.0, 0.0)},
    0.5,
    free=True,
)
OWN = System("system with its own step", _own, State(PLACES, SPEEDS), {"stiffness": _t(9.0)}, 2.0)

SYSTEMS = (CHAIN, DRAGGED, FLYING, OWN)


_PAIRS = np.array([[0, 1], [1, 2]], dtype=np.int32)
_START = torch.tensor([[0.0, 0.5, 0.0], [0.3, 0.3, 0.1], [0.6, 0.0, 0.0]], dtype=torch.float64)
_SPEED = torch.tensor([[0.2, 0.0, -0.1], [-0.3, 0.4, 0.0], [0.0, -0.2, 0.5]], dtype=torch.float64)
_AXES = torch.eye(3, dtype=torch.float64)


@final
class ToyChain(Model):
    """Three particles on two damped springs, shown as small octahedra.

    Args:
        radius: Radius of the octahedra [m].
    """

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
        """Return a chain with default settings."""
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
        return Mechanics(law, (net, external_force(get_step_values("force", params, control, (3, 3)))))

    def surface(self, trajectory: Trajectory, params: Params) -> Surface:
        corners = self.radius * torch.stack([_AXES, -_AXES], dim=1).reshape(6, 3).to(trajectory.q.dtype)
        vertices = (trajectory.q[:, :, None, :] + corners).reshape(len(trajectory), -1, 3)
        offsets = 6 * torch.arange(3)[:, None, None]
        return Surface(vertices, (octahedron_faces()[None] + offsets).reshape(-1, 3))
