"""Python wrapper of programs: arguments arrive unchanged, and numba's own wrapper is not needed."""

import sys

import numpy as np
import pytest

from diffloom_kernels import Program, device, launch
from diffloom_kernels.backends import entry_lowering
from diffloom_kernels.backends.entry_lowering import layout_is_known


@device
def noted(i, grid, flags, numbers, pair, whole, real, on, out):
    out[0] = grid.shape[0] * 1000 + grid.shape[1] * 100 + grid.shape[2]
    out[1] = grid[1, 2, 3]
    out[2] = numbers[1] + (10 if flags[1] else 0)
    out[3] = pair[0][0, 1] + pair[1][2]
    out[4] = whole
    out[5] = real
    out[6] = 1 if on else 0
    out[7] = numbers.size


def note(grid, flags, numbers, nested, whole, real, on, nothing, out):
    launch(1, noted, grid, flags, numbers, nested[0], whole, real, on, out)


noting = Program("test_noting", (note,))


def given(real, grid):
    rows = np.arange(6, dtype=real).reshape(2, 3)
    return (
        grid, np.array([False, True]), np.array([5, -7, 2], np.int32), ((rows, np.full(3, 0.5, real)), ()), -3, 0.25,
        True, None, np.zeros(8, real),
    )  # fmt: skip


@pytest.mark.parametrize("real", [np.float32, np.float64])
@pytest.mark.parametrize("taken", ["whole", "every other", "turned round", "read only"])
def test_everything_arrives_as_it_was_given(real, taken):
    large = np.arange(8 * 6 * 10, dtype=real).reshape(8, 6, 10)
    grid = {
        "whole": large,
        "every other": large[::2, 1:, ::2],
        "turned round": large[::-1, :, ::-1],
        "read only": large[2:],
    }[taken]
    if taken == "read only":
        grid = grid.copy()
        grid.flags.writeable = False
    args = given(real, grid)
    noting.run("note", *args)
    a, b, c = grid.shape
    assert args[-1].tolist() == [a * 1000 + b * 100 + c, grid[1, 2, 3], 3.0, 1.5, -3.0, 0.25, 1.0, 3.0]


def test_nothing_is_kept_and_nothing_is_let_go():
    args = given(np.float64, np.zeros((3, 3, 4)))
    noting.run("note", *args)
    arrays = [args[0], args[1], args[2], args[3][0][0], args[3][0][1], args[-1], args[3], args[3][0]]
    before = [sys.getrefcount(array) for array in arrays]
    for _ in range(50):
        noting.run("note", *args)
    assert [sys.getrefcount(array) for array in arrays] == before


def test_numbers_that_do_not_fit_are_said():
    args = list(given(np.float64, np.zeros((3, 3, 4))))
    args[4] = 2**70
    with pytest.raises(OverflowError):
        noting.run("note", *args)


def test_the_layout_of_tuples_and_arrays_is_known_here():
    assert layout_is_known(), "programs are called through numba's wrapper: see backends/entry_lowering.py"


def test_arrays_are_read_in_place():
    text = noting.assembly("note", *given(np.float64, np.zeros((3, 3, 4))))
    assert "adapt_ndarray" not in text
    assert "PyEval_SaveThread" in text


@device
def turned(i, z, out):
    out[i] = z.real - z.imag


def turn(z, out):
    launch(out.shape[0], turned, z, out)


def test_other_kinds_are_left_to_numbas_wrapper():
    program, out = Program("test_turning", (turn,)), np.zeros(2)
    program.run("turn", 2.0 + 0.5j, out)
    assert out.tolist() == [1.5, 1.5]


def test_where_the_layout_is_another_numbas_wrapper_does(monkeypatch):
    monkeypatch.setattr(entry_lowering, "layout_is_known", lambda: False)
    text = noting.assembly("note", *given(np.float64, np.zeros((3, 3, 4))))
    assert "adapt_ndarray" in text
