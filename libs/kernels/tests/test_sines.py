"""Sines and cosines: those that CUDA has in float32, compiled here for the processor."""

from __future__ import annotations

import numpy as np
import pytest

from diffloom_kernels import Program, cos, device, launch, sin
from diffloom_kernels.functions import turned_sine


@device
def both(i, x, out):
    out[i, 0], out[i, 1] = turned_sine(x[i], 0), turned_sine(x[i], 1)
    out[i, 2], out[i, 3] = sin(x[i]), cos(x[i])


def tabulate(x, out):
    launch(x.shape[0], both, x, out)


program = Program("test_sines", (tabulate,))


def tabulated(x):
    out = np.zeros((len(x), 4), np.float32)
    program.run("tabulate", x, out)
    return out


@pytest.mark.parametrize("size", [1e-30, 1e-6, 1e-3, 0.5, 3.0, 100.0, 1e4, 1e6])
def test_sines_are_those_of_float64(size):
    x = (np.random.default_rng(7).uniform(-1, 1, 50_000) * size).astype(np.float32)
    sine, cosine = np.sin(x.astype(float)), np.cos(x.astype(float))
    found = tabulated(x)
    assert np.abs(found[:, 0] - sine).max() <= 1.05e-7 * min(size, 1)
    assert np.abs(found[:, 1] - cosine).max() <= 1.05e-7
    assert (np.abs(found[:, 0] - sine) <= 1.7e-7 * np.abs(sine)).all()  # also near multiples of pi
    np.testing.assert_allclose(found[:, 2:], np.stack([sine, cosine], 1), rtol=0, atol=1e-7)


def test_quarters_of_a_turn():
    x = np.array([0, np.pi / 2, np.pi, 3 * np.pi / 2, -np.pi / 2, np.inf, np.nan], np.float32)
    found = tabulated(x)
    assert np.abs(found[:5, :2] - [[0, 1], [1, 0], [0, -1], [-1, 0], [-1, 0]]).max() < 1e-6
    assert np.isnan(found[5:, :2]).all()
