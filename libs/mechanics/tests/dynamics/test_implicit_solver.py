"""Linear systems of implicit schemes: singular ones return NaN or infinity."""

import numpy as np
import pytest

from diffloom_mechanics.implicit import DENSE, factorise


@pytest.mark.parametrize("size", [3, DENSE + 1], ids=["dense", "sparse"])
def test_systems_are_solved_and_singular_ones_are_not_finite(size):
    rows = np.arange(size)
    solve = factorise(np.full(size, 0.5), rows, rows, size, transposed=False)
    np.testing.assert_allclose(solve(np.ones(size)), np.full(size, 2.0))
    with np.errstate(all="ignore"):
        singular = factorise(np.ones(size), rows, rows, size, transposed=False)(np.ones(size))
    assert not np.isfinite(singular).all()
