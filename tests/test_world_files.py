"""Worlds in experiment files."""

from pathlib import Path

import pytest
import torch

from diffloom.interfaces import InputError, Material, Trajectory
from diffloom_experiments.build import build_scene
from diffloom_experiments.load import load_data

BALL = {"name": "rigid", "bodies": [{"shape": "sphere", "radius": 0.1}], "ground": False}
SHEET = {"name": "cloth", "mesh": {"shape": "grid", "cells": [2, 2]}}
FILE = {
    "bodies": [
        {"name": "ball", "model": BALL, "colour": [1.0, 0.0, 0.0]},
        {"name": "sheet", "model": SHEET, "colour": [0.0, 0.0, 1.0], "material": {"specular": 0.3}},
    ],
    "contacts": [{"between": ["ball", "sheet"], "friction": 0.2}],
    "attachments": [{"name": "string", "kind": "spring", "between": ["sheet", "ball"], "points": [4, [0, 0.1, 0]]}],
    "params": {"ball": {"mass": "200 g"}, "ball_sheet.restitution": 0.5, "string": {"stiffness": 30.0}},
    "time": {"dt": 1e-3, "steps": 10},
}


def scene_of(**changes):
    return build_scene(load_data({**FILE, **changes}, Path(), "world.toml"))


def test_bodies_contacts_and_attachments_are_read():
    scene = scene_of()
    assert float(scene.params["ball.mass"]) == pytest.approx(0.2)
    assert float(scene.params["ball_sheet.friction"]) == 0.2
    assert float(scene.params["ball_sheet.restitution"]) == 0.5
    assert float(scene.params["string.stiffness"]) == 30.0
    start = scene.model.initial_state(scene.params)
    path = Trajectory(*({name: pair[k][None] for name, pair in start.sets.items()} for k in (0, 1)), torch.zeros(1))
    surface = scene.model.surface(path, scene.params)
    assert surface.materials == (Material(), Material("phong", specular=0.3))
    colours = surface.colours
    assert colours[0].tolist() == [1.0, 0.0, 0.0] and colours[-1].tolist() == [0.0, 0.0, 1.0]


@pytest.mark.parametrize(
    "changes, words",
    [
        ({"model": BALL}, "either"),
        ({"bodies": []}, "either"),
        ({"bodies": [], "model": BALL, "attachments": []}, "contacts: these connect"),
        ({"contacts": [{"between": ["ball", "shet"]}]}, "two of the bodies ball, sheet"),
        ({"bodies": [{"name": "Ball", "model": BALL}]}, "lower case"),
    ],
)
def test_wrong_tables_of_a_world_are_refused(changes, words):
    with pytest.raises(InputError, match=words):
        scene_of(**changes)
