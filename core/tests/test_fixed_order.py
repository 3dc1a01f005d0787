"""Sums in a fixed order: right, differentiable, and the same bits with any number of threads."""

import pytest
import torch

from diffloom.fixed_order import ordered_mean, ordered_sum


@pytest.fixture
def threads():
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_number_of_threads_changes_no_bit(threads, dtype):
    values = torch.rand((7, 300, 301, 3), dtype=dtype, generator=torch.Generator().manual_seed(1)) - 0.5
    found = []
    for count in (1, 2, 3, 4):
        threads(count)
        found.append((ordered_mean(values).item(), ordered_sum(values, kept=1).tolist()))
    assert all(each == found[0] for each in found)


def test_sums_and_gradients_are_right():
    values = torch.rand((3, 4, 5), dtype=torch.float64, generator=torch.Generator().manual_seed(2), requires_grad=True)
    assert torch.allclose(ordered_sum(values, kept=1), values.sum(dim=(1, 2)), rtol=1e-14)
    assert torch.autograd.gradcheck(lambda x: ordered_sum(x, kept=1).square(), (values,))
    assert torch.autograd.gradcheck(lambda x: ordered_mean(x.square()), (values,))
    assert torch.autograd.gradgradcheck(lambda x: ordered_mean(x.square()), (values,))
    assert ordered_mean(torch.zeros(())) == 0.0
