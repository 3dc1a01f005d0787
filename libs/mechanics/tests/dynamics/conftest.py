"""A small net of springs with everything on it: contact, pushes, controls, a held particle."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from torch import Tensor

from diffloom.fixed_order import broadcast
from diffloom_mechanics import Mechanics, Push, TorchTerm, external_force, particles, pushes, springs
from diffloom_mechanics.contact import ground

COUNT, STEPS = 13, 40
PAIRS = np.array([(i, i + 1) for i in range(COUNT - 1)] + [(i, i + 2) for i in range(COUNT - 2)], np.int32)
WINDOWS = [Push(3, 0.05, 0.123), Push(5, 0.0, 0.2)]
CONTACT = (
    "contact_stiffness",
    "contact_dissipation",
    "friction_stiffness",
    "friction",
    "ground_height",
    "ground_normal",
)


@dataclass(frozen=True)
class Net:
    """Inputs by name, and the system they make."""

    inputs: dict[str, Tensor]

    def system(self, extra: tuple[TorchTerm, ...] = (), simd: bool = True, **given: Tensor) -> Mechanics:
        at = {**self.inputs, **given}
        held = np.zeros(COUNT, bool)
        held[0] = True
        net = springs(PAIRS, at["stiffness"], at["damping"], at["rest_length"])
        terms = (
            net,
            ground({k: at[k] for k in CONTACT}, COUNT),
            pushes(WINDOWS, at["push"], COUNT),
            external_force(at["control"]),
        )
        return Mechanics(particles(broadcast(at["mass"], (COUNT,)), at["gravity"], held), terms + extra)


def make_net(dtype: torch.dtype = torch.float64) -> Net:
    random = torch.Generator().manual_seed(3)

    def draw(*shape: int) -> Tensor:
        return torch.rand(shape, generator=random, dtype=torch.float64)

    place = draw(COUNT, 3) * torch.tensor([1.0, 0.3, 1.0])
    inputs = {
        "q": place, "u": 2.0 * draw(COUNT, 3) - 1.0, "mass": 0.5 + draw(COUNT),
        "gravity": torch.tensor([0.3, -9.81, 0.1]), "stiffness": 50.0 + 10.0 * draw(len(PAIRS)),
        "damping": torch.tensor(0.3), "rest_length": 0.2 + 0.3 * draw(len(PAIRS)),
        "push": 4.0 * draw(2, 3), "control": draw(STEPS, COUNT, 3),
        "contact_stiffness": torch.tensor(200.0), "contact_dissipation": torch.tensor(1.0),
        "friction_stiffness": torch.tensor(5.0), "friction": torch.tensor(0.6),
        "ground_height": torch.tensor(0.15), "ground_normal": torch.tensor([0.1, 1.0, 0.05]),
    }  # fmt: skip
    return Net({name: value.to(dtype) for name, value in inputs.items()})


@pytest.fixture
def net() -> Net:
    return make_net()


@pytest.fixture
def net_of() -> Callable[[torch.dtype], Net]:
    return make_net
