"""Stresses of several surfaces as one."""

import pytest
import torch

from diffloom.interfaces import InputError, Stress, join_stresses


def test_what_has_none_is_nan_and_pressure_goes_before_force_a_length():
    solid, sheet = Stress(torch.full((2, 3), 5.0)), Stress(torch.full((2, 2), 7.0), "N/m")
    both = join_stresses([solid, None, sheet], [3, 1, 2], 2)
    assert both.unit == "Pa"
    assert both.values.shape == (2, 6)
    assert both.values[:, :3].eq(5.0).all()
    assert both.values[:, 3:].isnan().all()
    alone = join_stresses([None, sheet], [1, 2], 2)
    assert alone.unit == "N/m"
    assert alone.values[:, 1:].eq(7.0).all()
    assert join_stresses([None, None], [1, 2], 2) is None


def test_one_frame_stands_for_all():
    assert join_stresses([Stress(torch.ones(1, 2))], [2], 4).values.shape == (4, 2)


@pytest.mark.parametrize("given", [{"values": torch.ones(3)}, {"values": torch.ones(1, 3), "unit": "psi"}])
def test_what_is_no_stress_is_refused(given):
    with pytest.raises(InputError, match="Stress"):
        Stress(**given)
