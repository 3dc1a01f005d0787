"""Small systems to try integrators on, of each kind there is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from diffloom.interfaces import CustomStep, Dynamics, State
from diffloom_mechanics import Mechanics, TorchTerm, particles, springs

#: A chain of three masses and two springs, hung up at its first mass.
PAIRS = np.array([[0, 1], [1, 2]], dtype=np.int32)
PINNED = np.array([True, False, False])


@dataclass(frozen=True)
class System:
    """A system made from named tensors.

    make(inputs) -> dynamics; start: the state. inputs: everything bound in, differentiable. period: a time in which
    much happens [s]. free: whether no outer force acts and nothing is pinned.
    """

    name: str
    make: Callable[[dict[str, Tensor]], Dynamics]
    start: State
    inputs: dict[str, Tensor]
    period: float
    free: bool = False

    def dynamics(self, dtype: torch.dtype = torch.float64) -> Dynamics:
        """The system with its own inputs, in one precision."""
        return self.make({name: value.to(dtype) for name, value in self.inputs.items()})

    def state(self, dtype: torch.dtype = torch.float64) -> State:
        """The start in one precision."""
        return State(self.start.q.to(dtype), self.start.u.to(dtype))


def _t(*values: object) -> Tensor:
    return torch.tensor(values[0] if len(values) == 1 else values, dtype=torch.float64)


def _chain_inputs() -> dict[str, Tensor]:
    return {
        "mass": _t(0.2, 0.3, 0.25),
        "gravity": _t(0.0, -9.81, 0.0),
        "stiffness": _t(40.0, 60.0),
        "damping": _t(0.2, 0.1),
        "rest_length": _t(0.4, 0.4),
    }


def _chain(inputs: dict[str, Tensor], pinned: bool = True) -> Mechanics:
    law = particles(inputs["mass"], inputs["gravity"], PINNED if pinned else None)
    return Mechanics(law, (springs(PAIRS, inputs["stiffness"], inputs["damping"], inputs["rest_length"]),))


def _drag(clock: object, q: Tensor, u: Tensor, drag: Tensor) -> Tensor:
    return -drag * u * (1.0 + u.square().sum(dim=1, keepdim=True))


def _with_drag(inputs: dict[str, Tensor]) -> Mechanics:
    system = _chain(inputs)
    return Mechanics(system.nodes, (*system.terms, TorchTerm("drag", _drag, (("drag", inputs["drag"]),))))


def _own(inputs: dict[str, Tensor]) -> CustomStep:
    def step(k: int, dt: float, state: State) -> State:
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
