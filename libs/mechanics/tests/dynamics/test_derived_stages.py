"""Derived adjoints of a term that works in stages, against differences."""

import numpy as np
import pytest
import staged_kernels as kernels
import torch

from diffloom import get_integrator
from diffloom.interfaces import State, StoreAll
from diffloom_kernels import num_threads, set_num_threads
from diffloom_kernels.derive import UnderivableError
from diffloom_mechanics import Mechanics, NodeSet, NodeTerm, TermStage
from diffloom_testing import check_gradient

DOUBLE = {"dtype": torch.float64}
STAGES = (TermStage(6, kernels.clear), TermStage(1, kernels.deposit))


@pytest.fixture
def given():
    torch.manual_seed(0)
    q = torch.tensor([[0.31], [0.42], [0.77], [1.13]], **DOUBLE)
    return {"q": q, "u": torch.randn(4, 1, **DOUBLE), "mass": 1.0 + torch.rand(4, **DOUBLE)}


def motion(q, u, mass, stages=STAGES, target="auto"):
    import drag_node_kernels

    arrays = (("inverse_mass", 1.0 / mass), ("loss", torch.zeros_like(mass)))
    nodes = NodeSet("line", 1, 1, drag_node_kernels.acceleration, arrays=arrays)
    term = NodeTerm("density", kernels.repel, constants=(np.array([0.25]),), params=(("mass", mass),),
                    work=(((6, 1), "float"),), stages=stages)  # fmt: skip
    run = get_integrator("semi_implicit")(target=target).rollout
    path = run(Mechanics(nodes, (term,)), State(q, u), dt=0.01, steps=5, save=(5,), gradient=StoreAll())
    return torch.cat([path.q.flatten(), path.u.flatten()])


def test_gradients_agree_with_differences(given):
    found = check_gradient(motion, given)
    assert {one.name for one in found} == set(given)
    assert max(one.error for one in found) < 1e-7


def test_gradients_have_the_same_bits_for_any_number_of_threads(given):
    inputs = [value.clone().requires_grad_() for value in given.values()]
    first, before = torch.autograd.grad(motion(*inputs, target="serial").square().sum(), inputs), num_threads()
    try:
        for threads in range(1, before + 1):
            set_num_threads(threads)
            again = torch.autograd.grad(motion(*inputs, target="parallel").square().sum(), inputs)
            assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
    finally:
        set_num_threads(before)


def test_a_pass_that_reads_an_array_it_changes_is_refused(given):
    stages = (*STAGES, TermStage(1, kernels.deposit_twice))
    with pytest.raises(UnderivableError, match="pass 2 of its stages reads a work array that this pass or a later one"):
        motion(**given, stages=stages)
