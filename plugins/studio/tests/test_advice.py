"""Advice of a report follows from the parts of the verdict that are not green."""

import dataclasses
from types import SimpleNamespace

import pytest
from toy_results import SURE, result

from diffloom_fitting import Experiment
from diffloom_fitting.loop import Record
from diffloom_studio.report.advice import give_advice
from diffloom_studio.report.page_data import cite


def test_a_green_fit_needs_no_advice():
    assert give_advice(result()) == []


@pytest.mark.parametrize(
    ("levels", "words"),
    [
        ({"visible": "red"}, "camera"),
        ({"converged": "amber"}, "iterations"),
        ({"identifiable": "amber"}, "does not determine mass"),
        ({"explained": "amber"}, "difference view"),
        ({"explained": "amber", "uncertainty": dataclasses.replace(SURE, step_bias=2.0)}, "halve time.dt"),
        ({"explained": "amber", "uncertainty": dataclasses.replace(SURE, windows=9.0)}, "model lacks"),
        ({"explained": "amber", "uncertainty": dataclasses.replace(SURE, images=False, noise=1.0)}, "loss on images"),
    ],
)
def test_each_fault_has_its_advice(levels, words):
    (sentence,) = give_advice(result(**levels))
    assert words in sentence


def test_visibility_comes_first():
    told = give_advice(result(explained="red", visible="amber", converged="red"))
    assert len(told) == 3
    assert "camera" in told[0]


def test_an_interrupted_fit_is_resumed():
    assert "--resume" in give_advice(dataclasses.replace(result(converged="red"), interrupted=True))[0]


def test_the_same_run_is_cited_alike_and_another_not():
    line = cite("A throw", result(), {"seed": 1})
    assert line == cite("A throw", result(), {"seed": 1})
    assert line != cite("A throw", result(), {"seed": 2})
    assert "diffloom" in line
    assert "green" in line


def test_an_invisible_object_is_the_only_advice():
    (only,) = give_advice(result(visible="red", converged="amber", identifiable="red", explained="red"))
    assert "camera" in only


def test_advice_on_iterations_is_an_option_with_its_value():
    record = Record(30, 0, 1, "GaussNewton", 20, 0.1, {"mass": 2.0}, 0.5, 0.1, 4, 0, 1.0)
    fit = dataclasses.replace(result(converged="amber"), loss=0.1, start_loss=1.0)
    (told,) = give_advice(dataclasses.replace(fit, history=(record,)))
    assert told.endswith("--iterations 40")
    stopped = dataclasses.replace(record, note="the loss fell by less than 0.001 of itself in 2 iterations")
    (told,) = give_advice(dataclasses.replace(fit, history=(stopped,)))
    assert told.endswith("--set stages.1.stop.change=1e-5")


def test_a_renderer_that_spoils_the_fit_is_the_first_to_change():
    class Hard:
        edge_gradients = False

    class Smooth:
        edge_gradients = True

    wrong = result(converged="red", explained="amber")
    biased = result(explained="amber", uncertainty=dataclasses.replace(SURE, lens_bias=1.0))
    for fit, renderer in ((wrong, Hard), (biased, Smooth)):
        experiment = object.__new__(Experiment)
        object.__setattr__(experiment, "scene", SimpleNamespace(renderer=renderer))
        (only,) = give_advice(fit, experiment)
        assert only.endswith("--renderer coverage")
