"""Steps under which small changes flip and grow."""

import warnings

import fitting_toys as toys
import pytest
from toy_scenes import toy_scene

from diffloom_fitting.trust.time_step import measure_change_growth, refuse_long_steps


def test_a_step_that_is_too_long_multiplies_changes_by_a_number_below_minus_one():
    # Drag c multiplies a velocity by 1 - c dt: -1.12 with c = 53 / s and dt = 0.04 s.
    when, factor = measure_change_growth(toy_scene(steps=20, drag=53.0), {})
    assert factor == pytest.approx(1.12, rel=1e-3)
    assert 0.0 <= when < 0.8
    assert measure_change_growth(toy_scene(steps=20, drag=45.0), {}) is None


def test_models_that_suggest_a_step_are_warned_of_it(monkeypatch):
    monkeypatch.setattr(toys.ToyModel, "suggested_dt", lambda self, params=None: 0.01, raising=False)
    with pytest.warns(UserWarning, match=r"dt = 0\.04 s is too long for the motion near .* such as the 0\.01 s"):
        refuse_long_steps(toy_scene(steps=4, drag=52.0), {})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        refuse_long_steps(toy_scene(steps=4, drag=1.0), {})
