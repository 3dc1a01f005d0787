"""Derived adjoints of functions of numbers, against central differences."""

import linecache

import derived_kernels as kernels
import numpy as np
import pytest

from diffloom_kernels.derive import (
    Array,
    Convention,
    Group,
    Real,
    UnderivableError,
    Whole,
    derive_adjoint,
    derive_by_convention,
    number_like,
)
from diffloom_kernels.derive.values import Fixed


def flat(value):
    """The numbers of a nested tuple."""
    return [n for entry in value for n in flat(entry)] if isinstance(value, tuple) else [float(value)]


def rebuilt(like, numbers):
    """A nested tuple of the structure of another."""
    return tuple(rebuilt(entry, numbers) for entry in like) if isinstance(like, tuple) else np.float64(next(numbers))


def check(function, *args, seed=0):
    """Compare <adj, J d> by differences with <J^T adj, d> for a random direction."""
    rng = np.random.default_rng(seed)
    adjoint = derive_adjoint(function, args)
    size, step = len(flat(args)), 1e-6
    d = rng.normal(size=size)
    there, back = (function(*rebuilt(args, iter(np.array(flat(args)) + s * step * d))) for s in (1, -1))
    adj = rebuilt(there, iter(rng.normal(size=len(flat(there)))))
    difference = (np.array(flat(there)) - np.array(flat(back))) / (2 * step)
    found = np.array(flat(adjoint(*args, adj)))
    assert np.abs(found).max() > 1e-3
    assert np.dot(found, d) == pytest.approx(np.dot(flat(adj), difference), rel=1e-8, abs=1e-8)


def test_elementary_functions():
    for x, y in ((0.3, 0.9), (1.7, 0.4), (0.6, 0.5)):
        check(kernels.elementary, x, y)


def test_branches():
    for x, y in ((0.7, 0.9), (0.9, 0.2), (0.2, 0.9), (0.3, -0.9), (0.9, -3.0), (-0.5, 0.4)):
        check(kernels.branches, x, y)


def test_loops_over_constants_and_calls():
    check(kernels.unrolled, (0.3, -0.8, 1.1), 0.7)


def test_the_length_of_a_zero_vector_has_a_finite_derivative():
    adjoint = derive_adjoint(kernels.length3, ((0.0, 0.0, 0.0),))
    assert adjoint((0.0, 0.0, 0.0), 1.0) == (0.0, 0.0, 0.0)


def test_a_hand_written_adjoint_is_called():
    assert derive_adjoint(kernels.uses_own_rule, (3.0, 5.0))(3.0, 5.0, 1.0) == (2 * 2 * 3 * 5, 2 * 9)


def summed_adjoint():
    x = Group((Real("x[0]", True), Real("x[1]", True)), "x")
    arrays = (
        Array("starts", "whole"), Array("rows", "real"), Array("weight", "parameter", cotangent="adj_weight"),
    )  # fmt: skip

    def seed(found, result):
        found.writer.widths["adj"] = 2
        found.add(result, "adj")

    results = lambda found, trace: [found.take(x, "adj_x")]  # noqa: E731
    extra = ("adj", "adj_weight")
    made = Convention((Whole("i", own=True), *arrays, x), extra, seed, results, number_like("adj[0]"))
    return derive_by_convention(kernels.summed, made)


def test_sums_of_unknown_length_add_to_parameters():
    rng = np.random.default_rng(1)
    starts, rows, weight, x = np.array([0, 2, 7]), rng.random((7, 2)), rng.random(2), (0.4, 0.6)
    adj, adj_weight, step = (0.7, -1.3), np.zeros(2), 1e-6
    found = summed_adjoint()(1, starts, rows, weight, x, adj, adj_weight)

    def end(dx=0.0, dy=0.0, dw=0.0):
        changed = weight + np.array([0.0, dw])
        return np.dot(adj, kernels.summed(1, starts, rows, changed, (x[0] + dx, x[1] + dy)))

    for value, name in zip((*found, adj_weight[1]), ("dx", "dy", "dw"), strict=True):
        assert value == pytest.approx((end(**{name: step}) - end(**{name: -step})) / (2 * step), rel=1e-8)
    assert adj_weight[0] == 0.0


def test_the_source_is_a_readable_file():
    adjoint = derive_adjoint(kernels.unrolled, ((0.3, -0.8, 1.1), 0.7))
    text = "".join(linecache.getlines(adjoint.py_func.__code__.co_filename))
    assert "def unrolled_adjoint(v, k, adj):" in text
    assert "# backwards" in text
    assert "def squared_adjoint(v, adj):" in text


def test_what_cannot_be_derived_is_refused_with_line_and_reason():
    with pytest.raises(UnderivableError, match=r"running \(derived_kernels.py, line \d+\).*total is changed by more"):
        derive_adjoint(kernels.running, (0.5, 3), whole=(1,))
    with pytest.raises(UnderivableError, match=r"searching \(derived_kernels.py, line \d+\).*while"):
        derive_adjoint(kernels.searching, (0.5,))
    line = kernels.elsewhere.py_func.__code__.co_firstlineno + 3
    place = (Array("q", "state"), Array("u", "state"), Array("gain", "parameter", cotangent="adj_gain"))
    made = Convention(
        (Whole("i", own=True), Fixed(None), *place), (), lambda found, result: None, lambda found, trace: [],
        number_like("q"),
    )  # fmt: skip
    with pytest.raises(UnderivableError, match=rf"line {line}\): it reads q of another node than its own"):
        derive_by_convention(kernels.elsewhere, made)
