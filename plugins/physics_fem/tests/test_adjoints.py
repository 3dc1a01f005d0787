"""Hand-written adjoints against differences and against forward-mode derivatives of the published formulas."""

import pytest
import torch
from reference import random_case, reference_force
from torch import Tensor

from diffloom.interfaces import Control
from diffloom_physics_fem.model import FemModel
from diffloom_testing import check_gradient

INPUTS = ("q", "u", "shear_modulus", "lame_modulus", "damping", "activation", "rest_shape")


def kernel_force(model: FemModel, q: Tensor, u: Tensor, **material: Tensor) -> Tensor:
    return model.dynamics(model.params(torch.float64, **material), Control()).force(q, u)


@pytest.mark.parametrize("disorder", [0.15, 1.0], ids=["bent", "with inverted elements"])
def test_every_cotangent_against_differences(block: FemModel, disorder: float) -> None:
    case = random_case(block, seed=1, disorder=disorder)
    found = check_gradient(lambda **inputs: kernel_force(block, **inputs), case, tolerance=1e-6, step=3e-5)
    assert {r.name for r in found if r.autograd != 0.0} == set(INPUTS)


@pytest.mark.parametrize("rest_fitted", [True, False])
def test_transpose_to_rounding(block: FemModel, rest_fitted: bool) -> None:
    """<J w, v> = <w, J^T v>: J by forward mode through the reference, J^T by the kernel."""
    case = random_case(block, seed=2)
    names = INPUTS if rest_fitted else INPUTS[:-1]
    random = torch.Generator().manual_seed(5)
    v = torch.randn(case["q"].shape, dtype=torch.float64, generator=random)
    leaves = {name: case[name].clone().requires_grad_(name in names) for name in INPUTS}
    grads = torch.autograd.grad(kernel_force(block, **leaves), [leaves[n] for n in names], v)
    for name, grad in zip(names, grads, strict=True):
        w = torch.randn(case[name].shape, dtype=torch.float64, generator=random)
        _, pushed = torch.func.jvp(
            lambda value, name=name: reference_force(block, **{**case, name: value}), (case[name],), (w,)
        )
        left, right = float((pushed * v).sum()), float((grad * w).sum())
        assert abs(left - right) <= 1e-12 * float(pushed.norm() * v.norm()), name


def test_young_and_poisson_reach_the_material(block: FemModel) -> None:
    case = random_case(block, seed=3)
    tets = len(block.mesh.tets)

    def f(youngs_modulus: Tensor, poisson_ratio: Tensor) -> Tensor:
        material = {"youngs_modulus": youngs_modulus, "poisson_ratio": poisson_ratio}
        return kernel_force(block, case["q"], case["u"], **material)

    rows = torch.linspace(0.1, 0.4, tets, dtype=torch.float64)
    found = check_gradient(f, {"youngs_modulus": 1e5 * (1 + rows), "poisson_ratio": rows}, tolerance=1e-7)
    assert all(r.autograd != 0.0 for r in found)


def test_single_precision_follows_double(block: FemModel) -> None:
    case = random_case(block, seed=4)
    results = []
    for dtype in (torch.float64, torch.float32):
        leaves = {name: value.to(dtype).requires_grad_() for name, value in case.items()}
        material = {name: leaf for name, leaf in leaves.items() if name not in ("q", "u")}
        f = block.dynamics(block.params(dtype, **material), Control()).force(leaves["q"], leaves["u"])
        weights = torch.linspace(-1, 1, f.numel(), dtype=dtype).reshape(f.shape)
        results.append([f.detach(), *torch.autograd.grad((f * weights).sum(), list(leaves.values()))])
    for exact, single, name in zip(*results, ("force", *INPUTS), strict=True):
        assert (single.double() - exact).abs().max() <= 2e-5 * exact.abs().max(), name
