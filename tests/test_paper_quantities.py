"""The paper's Table 6: every quantity it lists is an unknown that can be sought."""

import pytest

from diffloom.plugins import get_model, get_renderer
from diffloom_fitting import Orbit, Scene
from diffloom_fitting.scene import list_seekable

#: Rows by model of the table: its constructor here, and its name for each quantity of the table.
ROWS = {
    "rigid body": (
        lambda: get_model("rigid")(
            [{"shape": "box"}], pushes=[{"vertex": 0, "impulse": [1, 0, 0], "start": 0.0, "end": 0.1}]
        ),
        {"pos": "position", "vel": "velocity", "mass": "mass", "rot": "orientation", "g": "gravity", "mu": "friction",
         "e": "contact_stiffness", "ext forces": "push_force"},
    ),
    "simple pendulum": (
        lambda: get_model("articulated")([{"builder": "pendulum", "length": 1.0}]),
        {"pos": "joint_position", "rest": "length", "g": "gravity"},
    ),
    "double pendulum": (
        lambda: get_model("articulated")([{"builder": "double_pendulum", "lengths": [1.0, 1.0]}]),
        {"pos": "joint_position", "rest": "length", "g": "gravity"},
    ),
    "deformable object": (
        lambda: get_model("fem")("box", cells=[1, 1, 1]),
        {"pos": "position", "vel": "velocity", "mass": "mass", "rot": "orientation", "rest": "rest_shape",
         "stiff": "shear_modulus", "damp": "damping", "actuation": "activation", "g": "gravity", "mu": "friction",
         "e": "contact_stiffness"},
    ),
    "cloth": (
        lambda: get_model("cloth")({"shape": "grid", "cells": [2, 2]}, ground=True),
        {"pos": "position", "vel": "velocity", "mass": "mass", "rest": "rest_shape", "stiff": "shear_modulus",
         "damp": "damping", "g": "gravity", "mu": "friction", "e": "contact_stiffness", "ext forces": "wind"},
    ),
    "smoke": (lambda: get_model("smoke")(4, 4, 0.1), {"vel": "velocity"}),
}  # fmt: skip


@pytest.mark.parametrize("row", ROWS)
def test_every_quantity_is_an_unknown(row):
    make, names = ROWS[row]
    model = make()
    scene = Scene(model, get_renderer("softras")(), Orbit(distance=5, size=16), model.params(), dt=1e-3, steps=2)
    able = list_seekable(scene)
    for quantity, name in names.items():
        assert name in able, f"{quantity}: {name} is not among {sorted(able)}"
        assert model.spec(name).differentiable, quantity
