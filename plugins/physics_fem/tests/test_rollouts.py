"""Whole rollouts: gradients through an impact for every parameter, exactness in free flight, reproducibility."""

import pytest
import torch
from torch import Tensor

from diffloom import simulate
from diffloom.interfaces import Checkpointed, Control, StoreAll, Trajectory
from diffloom_mechanics import SemiImplicitEuler
from diffloom_physics_fem.model import FemModel
from diffloom_testing import check_gradient

DT, STEPS = 5e-4, 80
DOUBLE = torch.float64


@pytest.fixture(scope="module")
def model() -> FemModel:
    """A block whose upper half has an activation of its own."""
    regions = {"upper": {"box": [[-1, 0.0, -1], [1, 1, 1]]}}
    shape = {"size": (0.2, 0.2, 0.2), "cells": (2, 2, 2)}
    return FemModel("box", **shape, regions=regions, shared={"upper": ["activation", "shear_modulus", "mass"]})


def thrown(model: FemModel, dtype: torch.dtype = DOUBLE, **values: object) -> dict[str, object]:
    """Parameters of a block thrown at the ground so that it hits with a corner, slides and turns."""
    start: dict[str, object] = {
        "position": (0.0, 0.155, 0.0),
        "orientation": (0.9, 0.1, 0.2, 0.35),
        "velocity": (1.0, -2.0, 0.4),
        "angular_velocity": (1.0, 2.0, -3.0),
        "shear_modulus": 2e4,
        "lame_modulus": 3e4,
        "damping": 20.0,
        "density": 200.0,
        "contact_stiffness": 2e3,
        "contact_dissipation": 0.5,
        "friction_stiffness": 5.0,
        "friction": 0.4,
    }
    return {name: torch.as_tensor(v, dtype=dtype) for name, v in {**start, **values}.items()}


def assert_impact(model: FemModel, trajectory: Trajectory) -> None:
    depth = -trajectory.q.detach()[..., 1].min(dim=1).values
    assert depth[0] < 0.0, "starts in the air"
    assert (depth > 1e-3).float().mean() > 0.3, "and is in contact for a good while"


def run(model: FemModel, inputs: dict[str, Tensor], control: Control | None = None, every: int = 20) -> Tensor:
    trajectory = simulate(model, model.params(DOUBLE, **inputs), dt=DT, steps=STEPS, save_every=every, control=control)
    return torch.cat([trajectory.q, trajectory.u * 0.01])


def test_the_thrown_block_hits_the_ground(model: FemModel) -> None:
    trajectory = simulate(model, model.params(DOUBLE, **thrown(model)), dt=DT, steps=STEPS)
    assert_impact(model, trajectory)
    sliding = trajectory.u[-1][trajectory.q[-1][:, 1] < 0.0][:, [0, 2]].norm(dim=1)
    assert sliding.min() > 0.01, "friction acts"


def test_every_parameter_through_an_impact(model: FemModel) -> None:
    vertices = torch.tensor(model.mesh.vertices)
    rows = torch.linspace(-0.1, 0.1, len(model.mesh.tets), dtype=DOUBLE)
    inputs = thrown(model)
    inputs |= {name: inputs[name] * (1.0 + rows) for name in ("density", "shear_modulus", "lame_modulus", "damping")}
    inputs |= {"activation": rows, "start_shape": vertices, "rest_shape": vertices * (1.0 + 0.1 * vertices)}
    inputs |= {"gravity": torch.tensor([0.1, -9.81, 0.2], dtype=DOUBLE)}
    inputs |= {"ground_height": torch.tensor(0.003, dtype=DOUBLE)}
    inputs |= {"ground_normal": torch.tensor([0.05, 1.0, -0.03], dtype=DOUBLE)}
    declared = {s.name for s in model.specs if s.default is not None} | {"start_shape", "rest_shape"}
    assert set(inputs) == declared, "every parameter with a default takes part"
    found = check_gradient(lambda **given: run(model, given), inputs, tolerance=1e-5, step=1e-6)
    assert all(abs(r.autograd) > 1e-9 for r in found), "and matters"


def test_the_alternative_parameters_through_an_impact(model: FemModel) -> None:
    inputs = thrown(model)
    for name in ("shear_modulus", "lame_modulus", "density"):
        del inputs[name]
    inputs["youngs_modulus"] = torch.tensor(5e4, dtype=DOUBLE)
    inputs["poisson_ratio"] = torch.tensor(0.3, dtype=DOUBLE)
    inputs["mass"] = torch.linspace(0.05, 0.15, len(model.mesh.vertices), dtype=DOUBLE)
    inputs["mass_upper"] = torch.tensor(0.07, dtype=DOUBLE)
    fitted = ("youngs_modulus", "poisson_ratio", "mass", "mass_upper")

    def outcome(**given: Tensor) -> Tensor:
        return run(model, {**inputs, **given})

    found = check_gradient(outcome, {name: inputs[name] for name in fitted}, tolerance=1e-5, step=1e-6)
    assert all(abs(r.autograd) > 1e-9 for r in found)


def test_one_activation_per_step_and_region(model: FemModel) -> None:
    fixed = thrown(model)
    waves = torch.sin(torch.arange(STEPS, dtype=DOUBLE) / 5.0)
    inputs = {
        "activation": 0.2 * waves[:, None] * torch.linspace(0.0, 1.0, len(model.mesh.tets), dtype=DOUBLE),
        "activation_upper": 0.3 * waves,
        "shear_modulus_upper": torch.tensor(1e4, dtype=DOUBLE),
    }

    def outcome(activation: Tensor, activation_upper: Tensor, shear_modulus_upper: Tensor) -> Tensor:
        control = Control({"activation": activation, "activation_upper": activation_upper})
        return run(model, {**fixed, "shear_modulus_upper": shear_modulus_upper}, control)

    found = check_gradient(outcome, inputs, tolerance=1e-5, step=1e-5)
    assert all(abs(r.autograd) > 1e-9 for r in found)


def test_free_flight_is_the_exact_discrete_parabola(model: FemModel) -> None:
    params = model.params(DOUBLE, position=(0.0, 50.0, 0.0), velocity=(1.0, 2.0, 3.0), orientation=(0.5, 0.1, 0.3, 0.2))
    trajectory = simulate(model, params, dt=DT, steps=STEPS, save_every=STEPS)
    fallen = torch.tensor([1.0, 2.0, 3.0], dtype=DOUBLE) * STEPS * DT
    fallen += torch.tensor([0.0, -9.81, 0.0], dtype=DOUBLE) * DT**2 * STEPS * (STEPS + 1) / 2
    expected = trajectory.q[0] + fallen
    assert (trajectory.q[-1] - expected).abs().max() <= 1e-12 * 50.0


def results(model: FemModel, dtype: torch.dtype, target: str, gradient: object) -> list[Tensor]:
    inputs = {name: value.requires_grad_() for name, value in thrown(model, dtype).items()}
    scheme = SemiImplicitEuler(target=target)
    trajectory = simulate(
        model, model.params(dtype, **inputs), dt=DT, steps=STEPS, save_every=10, integrator=scheme, gradient=gradient
    )
    assert_impact(model, trajectory)
    loss = (trajectory.q * torch.linspace(-1, 1, trajectory.q.numel(), dtype=dtype).reshape(trajectory.q.shape)).sum()
    return [trajectory.q.detach(), trajectory.u.detach(), *torch.autograd.grad(loss, list(inputs.values()))]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])
def test_bit_for_bit_the_same_every_time(model: FemModel, dtype: torch.dtype) -> None:
    first = results(model, dtype, "serial", StoreAll())
    for target, gradient in (("serial", StoreAll()), ("parallel", StoreAll()), ("serial", Checkpointed(segment=7))):
        again = results(model, dtype, target, gradient)
        for a, b in zip(first, again, strict=True):
            assert torch.equal(a, b), f"{target}, {gradient}"
