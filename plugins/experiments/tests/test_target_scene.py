"""A target whose scene is not that of the fit: other values, another model, another renderer, in one file."""

import pytest
import torch

from diffloom.interfaces import InputError
from diffloom_experiments import build_experiment
from diffloom_experiments.load import load_data

BALL = {"name": "rigid", "bodies": [{"shape": "box"}], "ground": False}
SPEED = [{"uniform": [0.5, 2.0]}, 0.0, 0.0]
DATA = {
    "precision": "float32",
    "model": BALL,
    "params": {"velocity": SPEED},
    "time": {"dt": 0.02, "steps": 20},
    "camera": {"distance": 5, "size": [16, 16]},
    "target": {"rate": 10},
    "truth": {"density": 2.0},
    "unknowns": {"density": {"start": 3.0}},
}


def built(tmp_path, scene, **target):
    data = {**DATA, "target": {**DATA["target"], **target, "scene": scene}}
    return build_experiment(load_data(data, tmp_path, "test.toml"))


def test_values_of_the_target_alone(tmp_path):
    experiment = built(tmp_path, {"params.gravity": [0.0, 0.0, 0.0]})
    target, scene = experiment.target, experiment.scene
    assert float(scene.params["gravity"][1]) == pytest.approx(-9.81)
    speed = float(scene.params["velocity"][0])
    assert target.q[-1, 0, :2].tolist() == pytest.approx([0.4 * speed, 0.0], abs=1e-6)


def test_another_model_is_thrown_alike_and_drawn_by_another_renderer(tmp_path):
    """A draw in the target's scene is the one at the same place of the fit."""
    params = {"velocity": SPEED, "shear_modulus": 1e4, "lame_modulus": 1e4, "gravity": [0.0, 0.0, 0.0]}
    model = {"name": "fem", "mesh": "box", "size": [1, 1, 1], "cells": [1, 1, 1], "ground": False}
    still = {"params.gravity": [0.0, 0.0, 0.0]}
    one = built(tmp_path, still, renderer="dibr").target
    two = built(
        tmp_path, {"model": model, "params": params, "time.dt": 0.005, "time.steps": 80}, renderer="dibr"
    ).target
    assert two.q is None  # states of another model are not comparable
    assert "DibrRenderer" in two.source
    middle = [((t.masks * torch.arange(16.0)).sum((1, 2)) / t.masks.sum((1, 2))) for t in (one, two)]
    assert float(middle[0][-1] - middle[0][0]) > 0.5
    assert middle[0].tolist() == pytest.approx(middle[1].tolist(), abs=0.1)


@pytest.mark.parametrize(
    "scene, told",
    [
        ({"camera.distance": 3}, "expected places in model"),
        ({"params.gravty": 1.0}, "gravty"),
        ({"time": {"dt": -1.0, "steps": 3}}, "target.scene cannot be used"),
    ],
)
def test_what_cannot_differ_is_told(tmp_path, scene, told):
    with pytest.raises(InputError, match=told):
        built(tmp_path, scene)


def test_a_video_is_not_simulated(tmp_path):
    with pytest.raises(InputError, match="leave out target.video"):
        built(tmp_path, {"params.mass": 1.0}, video="clip.mp4")
