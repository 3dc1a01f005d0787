"""Pipelines on dual numbers, against differences of the same pipeline."""

import dual_kernels
import numpy as np

from diffloom_kernels import Program
from diffloom_kernels.tangents import as_duals, tangents_of, values_of

PROGRAM = Program("every-operation", (dual_kernels.every_operation,))
TABLE = np.array([0.3, 0.7, 1.9])


def plain(x):
    out = np.zeros_like(x)
    PROGRAM.run("every_operation", x, TABLE, out)
    return out


def difference(x, d, h=1e-3):
    """Derivative along d with an error of order h^6."""
    weights = {1: 3 / 4, 2: -3 / 20, 3: 1 / 60}
    return sum(w * (plain(x + k * h * d) - plain(x - k * h * d)) for k, w in weights.items()) / h


def test_values_and_tangents():
    rng = np.random.default_rng(0)
    x = np.array([[0.33, 0.81, 0.52], [0.74, 0.46, 0.97], [0.57, 0.93, 0.28]])
    along = rng.normal(size=(2, 3, 3))
    out = as_duals(np.zeros_like(x), [None, None])
    PROGRAM.run("every_operation", as_duals(x, list(along)), TABLE, out)
    assert np.allclose(values_of(out), plain(x), rtol=1e-15)
    for k, d in enumerate(along):
        assert np.allclose(tangents_of(out)[..., k], difference(x, d), rtol=1e-10, atol=1e-10)
