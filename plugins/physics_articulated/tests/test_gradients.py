"""Every gradient against differences in float64: one acceleration of two hundred random trees, and whole motions."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from diffloom import simulate
from diffloom.interfaces import Control
from diffloom_physics_articulated.mass_properties import to_log_cholesky
from diffloom_physics_articulated.model import ArticulatedModel
from diffloom_testing import check_gradient

sys.path.insert(0, str(Path(__file__).parent))
from random_trees import random_tree

STEP = 1e-4
LINKS = ("mass", "centre_of_mass", "inertia", "frame_position", "frame_orientation", "length")
JOINTS = ("armature", "damping", "stiffness", "joint_position", "joint_orientation", "joint_velocity", "torque")


@pytest.fixture(scope="module")
def forest() -> ArticulatedModel:
    """Trees of one to ten links, all in one compiled system."""
    random = np.random.default_rng(5)
    return ArticulatedModel(
        [random_tree(random, int(random.integers(1, 11)), floating=bool(random.integers(2))) for _ in range(200)]
    )


def kicked(model: ArticulatedModel, **values: torch.Tensor) -> torch.Tensor:
    """(trees, dq + du) one short step: as sharp a view of accelerations as there is."""
    path = simulate(model, model.params(torch.float64, **values), dt=0.02, steps=1, integrator="semi_implicit")
    return torch.cat([path.q[-1], path.u[-1]], 1)


@pytest.mark.slow  # compiles for wide rows; the conformance suite has every parameter of a smaller model
@pytest.mark.parametrize("name", (*LINKS, *JOINTS, "gravity"))
def test_gradients_of_random_trees(forest: ArticulatedModel, name: str) -> None:
    """A direction for all trees at once; trees do not meet, so each is compared alone."""
    random = torch.Generator().manual_seed(len(name))
    value = forest.params(torch.float64)[name].expand(forest.spec(name).full_shape(forest.axes)).clone()
    low = forest.spec(name).bounds[0]
    value = value if low is None else value.clamp(min=low + 0.05)
    way = torch.randn(value.shape, generator=random, dtype=torch.float64)
    if name == "inertia":  # stay among what can exist
        way = 0.1 * value
    weights = torch.randn(kicked(forest).shape, generator=random, dtype=torch.float64)

    def each(x: torch.Tensor) -> torch.Tensor:
        return (kicked(forest, **{name: x}) * weights).sum(1)

    scale = STEP / way.abs().max()
    coarse, fine = ((each(value + h * way) - each(value - h * way)) / (2 * h) for h in (scale, 0.5 * scale))
    differences = (4.0 * fine - coarse) / 3.0
    x = value.clone().requires_grad_()
    values = each(x)
    found = torch.zeros_like(differences)
    (grad,) = torch.autograd.grad(values.sum(), x)
    if name == "gravity":
        assert torch.allclose((grad * way).sum(), differences.sum(), rtol=1e-6)
        return
    counts = row_counts(forest)[str(forest.spec(name).shape[0])]
    tree = torch.repeat_interleave(torch.arange(len(counts)), torch.tensor(counts))
    found = found.index_add(0, tree, (grad * way).reshape(len(tree), -1).sum(1))
    size = differences.abs().clamp(min=1e-3 * float(differences.abs().max()))
    assert float(((found - differences).abs() / size).max()) < 1e-6
    assert int((differences != 0).sum()) > 20


def row_counts(model: ArticulatedModel) -> dict[str, list[int]]:
    """Rows of each tree along each axis of parameters."""
    layout, count = model.layout, len(model.trees)
    return {
        "links": [len(tree.links) for tree in model.trees],
        "dofs": np.bincount(layout.dofs // layout.du, minlength=count).tolist(),
        "scalars": np.bincount(layout.coordinates // layout.dq, minlength=count).tolist(),
        "balls": np.bincount(layout.turns // layout.dq, minlength=count).tolist(),
    }


def test_log_cholesky_numbers() -> None:
    """Log-Cholesky numbers restore masses and moments; any numbers give a physical body, with the right gradient."""
    model = ArticulatedModel.example()
    ten = model.ten_numbers(model.params(torch.float64))
    numbers = to_log_cholesky(ten)
    again = model.ten_numbers(model.params(torch.float64, log_inertia=numbers))
    assert torch.allclose(again, ten, rtol=1e-10, atol=1e-14)

    def motion(log_inertia: torch.Tensor) -> torch.Tensor:
        return simulate(model, model.params(torch.float64, log_inertia=log_inertia), dt=0.005, steps=10).q[-1]

    check_gradient(motion, {"log_inertia": numbers})


@pytest.mark.slow
def test_transpose_of_one_step() -> None:
    """<J a, b> = <a, J^T b>, the former by differences, for forces on all velocities."""
    model = ArticulatedModel.example()
    system = model.dynamics(model.params(torch.float64), Control())
    state = model.initial_state(model.params(torch.float64))
    evaluation = system.evaluation(system.tensors, 1.0)
    random = torch.Generator().manual_seed(2)
    a, b, f = (torch.randn(state.u.shape, generator=random, dtype=torch.float64) for _ in range(3))
    q, u = (state.q,), (state.u,)
    # Accelerations are linear in the force, so a difference of any length is exact.
    ja = evaluation.rates(q, u, (f + a,))[1][0] - evaluation.rates(q, u, (f,))[1][0]
    _, _, jb = evaluation.rates_adjoint(q, u, (f,), ((torch.zeros_like(state.q),), (b,)))
    assert abs(float((ja * b).sum() - (a * jb[0]).sum())) < 1e-12 * float((ja * b).abs().sum())
