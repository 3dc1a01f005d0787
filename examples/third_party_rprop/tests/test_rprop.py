"""The conformance suite, one test for each check; how far it gets; and that an experiment file may name it."""

import pytest
from loom_rprop.optimiser import Rprop

from diffloom.interfaces import InputError
from diffloom_fitting import get_optimiser, run_search
from diffloom_fitting.testing import small_fit
from diffloom_testing import parametrize_with_checks


@parametrize_with_checks([Rprop])
def test_conformance(subject, check):
    check()


def test_it_finds_the_minimum():
    problem, start, truth = small_fit()
    here = run_search(problem, Rprop().begin(problem, start, seed=0))
    for _ in range(80):
        here = run_search(problem, Rprop().step(problem, here, 1.0))
    found = {name: float(value) for name, value in problem.values(here.z).items()}
    assert found == pytest.approx(truth, rel=1e-4)


def test_the_size_of_the_gradient_does_not_matter():
    problem, start, _ = small_fit()
    here = run_search(problem, Rprop(first=0.03).begin(problem, start, seed=0))
    there = run_search(problem, Rprop(first=0.03).step(problem, here, 1.0))
    assert (there.z - here.z).abs().tolist() == pytest.approx([0.03, 0.03])


def test_factors_that_make_no_sense_are_refused():
    with pytest.raises(InputError, match="expected 0 < shrink < 1 < grow"):
        Rprop(grow=0.9)


def test_it_is_registered():
    assert get_optimiser("rprop") is Rprop
