"""The conformance suite, one test for each check; and what sets this loss apart."""

from dataclasses import replace

import pytest
import torch
from loom_edges.loss import EdgeError

from diffloom.interfaces import Image, InputError
from diffloom_fitting import Target, View, get_loss
from diffloom_testing import check_gradient, parametrize_with_checks


@parametrize_with_checks([EdgeError, EdgeError(blur=3)])
def test_conformance(subject, check):
    check()


def compared(seen, wanted, blur=1):
    times = torch.arange(len(seen), dtype=torch.float64)
    view = View(Image(rgba=seen), torch.zeros((len(seen), 1, 3)), None, times)
    return EdgeError(blur).value(view, Target(times, frames=wanted))


@pytest.mark.parametrize("blur", [1, 3])
def test_a_brightness_added_to_all_pixels_does_not_count(blur):
    random = torch.Generator().manual_seed(0)
    seen, wanted = torch.rand((2, 2, 9, 7, 4), generator=random, dtype=torch.float64)
    haze = torch.tensor([0.3, 0.3, 0.3, 0.0], dtype=torch.float64)
    assert float(compared(seen, seen + haze, blur)) < 1e-30
    assert float(compared(seen, wanted + haze, blur)) == pytest.approx(float(compared(seen, wanted, blur)))


@pytest.mark.parametrize("blur", [1, 3])
def test_the_gradient_agrees_with_finite_differences(blur):
    random = torch.Generator().manual_seed(1)
    seen, wanted = torch.rand((2, 2, 5, 6, 4), generator=random, dtype=torch.float64)
    check_gradient(lambda seen: compared(seen, wanted, blur), {"seen": seen}, tolerance=1e-6)


def test_an_even_blur_is_refused():
    with pytest.raises(InputError, match="expected an odd number of pixels"):
        EdgeError(blur=2)


def test_it_is_registered():
    assert get_loss("edges") is EdgeError
    assert replace(EdgeError(), blur=5) == get_loss("edges")(blur=5)
