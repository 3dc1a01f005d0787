"""Files that name neither a step nor stages."""

import pytest

from diffloom.interfaces import InputError, SimulationError
from diffloom_experiments import build_experiment, build_scene, load_data
from diffloom_fitting import MultiScale
from diffloom_fitting.scene import suggest_step

SCENE = {
    "model": {"name": "fem", "mesh": "box", "cells": [2, 2, 2], "size": [0.4, 0.4, 0.4]},
    "params": {"position": [0.0, 0.5, 0.0], "lame_modulus": 4e3},
    "time": {"duration": 0.2},
    "camera": {"distance": 2, "size": [32, 32]},
    "target": {"rate": 30},
    "truth": {"shear_modulus": 4e6, "velocity": [0.5, 0.0, 0.0]},
    "unknowns": {"shear_modulus": {"start": 2e3}, "velocity": {"start": [0.0, 0.0, 0.0]}},
}


def load(folder, **changes):
    return load_data({**SCENE, **changes}, folder, "box.toml")


def test_the_step_suits_start_and_truth_and_divides_the_duration(tmp_path):
    scene = build_scene(load(tmp_path))
    stiff = scene.model.params(scene.dtype, shear_modulus=4e6, **SCENE["params"])
    soft = scene.model.params(scene.dtype, shear_modulus=2e3, **SCENE["params"])
    assert scene.dt <= suggest_step(scene.model, stiff) < suggest_step(scene.model, soft)
    assert scene.steps * scene.dt == pytest.approx(0.2, rel=1e-12)


def test_a_given_step_is_kept(tmp_path):
    assert build_scene(load(tmp_path, time={"dt": 1e-3, "duration": 0.2})).dt == 1e-3


def test_a_short_simulation_has_a_hundred_steps(tmp_path):
    rigid = {
        "model": {"name": "rigid", "bodies": [{"shape": "box"}]},
        "params": {"position": [0.0, 5.0, 0.0]},
        "truth": {"velocity": [1.0, 0, 0]},
    }
    scene = build_scene(load(tmp_path, **rigid, time={"duration": 1e-3}, unknowns={"velocity": {"start": [0.0, 0, 0]}}))
    assert scene.steps >= 100


def test_motion_comes_before_materials_and_coarse_images_before_fine_ones(tmp_path):
    first, second, last = build_experiment(load(tmp_path)).stages
    assert first.only == ("velocity",)
    assert second.only is None and last.only is None
    assert isinstance(first.loss, MultiScale) and isinstance(second.loss, MultiScale) and last.loss is None
    assert first.horizon.first < second.horizon.last == last.horizon.first == 1.0


def test_turns_come_after_velocities(tmp_path):
    sought = {name: {"start": [0.0, 0.0, 0.0]} for name in ("angular_velocity", "velocity")}
    truth = {"angular_velocity": [0.0, 1.0, 0.0], "velocity": [1.0, 0.0, 0.0]}
    stages = build_experiment(load(tmp_path, unknowns=sought, truth=truth)).stages
    assert [stage.only for stage in stages] == [("velocity",), None, None]


def test_given_stages_are_kept_and_iterations_are_those_of_the_last(tmp_path):
    own = [{"optimiser": "adam", "iterations": 3}]
    (stage,) = build_experiment(load(tmp_path, stages=own)).stages
    assert stage.iterations == 3
    assert build_experiment(load(tmp_path, iterations=7)).stages[-1].iterations == 7
    with pytest.raises(InputError, match=r"stages of its own; write stages\.0\.iterations = 7"):
        build_experiment(load(tmp_path, stages=own, iterations=7))


def test_a_step_under_which_the_truth_blows_up_is_answered_by_a_key_and_a_value(tmp_path):
    with pytest.raises(SimulationError, match=r'box.toml: .* Here time.dt = \S+ or time.dt = "auto" would do'):
        build_experiment(load(tmp_path, time={"dt": 1e-2, "duration": 0.5}))
