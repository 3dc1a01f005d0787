"""What a report advises follows from what stands in the way of green."""

import dataclasses

import pytest
import torch

from diffloom_fitting.result import Estimate, Result
from diffloom_fitting.trust.uncertainty import Uncertainty
from diffloom_fitting.trust.verdict import Finding, Verdict
from diffloom_studio.report.advice import advice
from diffloom_studio.report.citation import cite

GOOD = Finding("green", "yes")
SURE = Uncertainty({"mass": torch.tensor(0.1)}, 0.01, 1.0, torch.ones(1, 1))


def result(**levels):
    uncertainty = levels.pop("uncertainty", SURE)
    parts = dict.fromkeys(("converged", "visible", "identifiable", "explained"), GOOD)
    parts |= {part: Finding(level, "no") for part, level in levels.items()}
    found = Estimate("mass", "kg", torch.tensor(1.0), torch.tensor(2.0))
    verdict = Verdict(**parts, undetermined=("mass",) if "identifiable" in levels else ())
    return Result((found,), torch.zeros(1), 1e-3, 1e-2, "done", 3, 4, 1.0, 0, uncertainty=uncertainty, verdict=verdict)


def test_a_green_fit_needs_no_advice():
    assert advice(result()) == []


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
    (sentence,) = advice(result(**levels))
    assert words in sentence


def test_what_cannot_be_seen_comes_first():
    told = advice(result(explained="red", visible="amber", converged="red"))
    assert len(told) == 3
    assert "camera" in told[0]


def test_an_interrupted_fit_is_resumed():
    assert "--resume" in advice(dataclasses.replace(result(converged="red"), interrupted=True))[0]


def test_the_same_run_is_cited_alike_and_another_not():
    line = cite("A throw", result(), {"seed": 1})
    assert line == cite("A throw", result(), {"seed": 1})
    assert line != cite("A throw", result(), {"seed": 2})
    assert "diffloom" in line
    assert "green" in line


def test_what_is_not_seen_at_all_is_the_only_advice():
    (only,) = advice(result(visible="red", converged="amber", identifiable="red", explained="red"))
    assert "camera" in only
