"""The conformance suite, one test for each check; the physics; and a radius found from pixels."""

import pytest
import torch
from loom_sphere.ball import Ball

import diffloom_fitting as fitting
from diffloom import get_model, get_renderer, simulate
from diffloom_mechanics import WithTerms
from diffloom_testing import parametrize_with_checks

# The rest compiles whole rollouts of every installed model; `diffloom plugins check ball` runs it all.
FAMILIES = ("declarations", "fits", "force", "gradients", "claims", "determinism")


@parametrize_with_checks([Ball], families=FAMILIES)
def test_conformance(subject, check):
    check()


def test_a_particle_comes_to_rest_where_the_ball_carries_it():
    one = get_model("springs")([[0.0, 0.3, 0.0]], [], on_ground=False)
    model = WithTerms(one, {"ball": Ball(radius=0.3)})
    params = model.params(
        torch.float64, **{"mass": 0.2, "ball.contact_stiffness": 1e3, "ball.contact_dissipation": 20.0}
    )
    end = simulate(model, params, dt=1e-3, steps=2000, save=(2000,)).q[0]
    assert torch.allclose(end, torch.tensor([[0.0, 0.3 - 0.2 * 9.81 / 1e3, 0.0]], dtype=torch.float64), atol=1e-9)


SHEET = {"bending_stiffness": 2e-3, "ball.contact_stiffness": 100.0, "ball.contact_dissipation": 1.0}
BLOCK = {"position": (0.0, 0.05, 0.0), "shear_modulus": 5e4, "ball.contact_stiffness": 500.0}


@pytest.mark.parametrize(
    ("name", "settings", "values"),
    [
        ("cloth", {"mesh": {"shape": "grid", "cells": [6, 6], "size": [0.6, 0.6]}}, SHEET),
        ("fem", {"mesh": "box", "size": (0.3, 0.1, 0.3), "cells": (3, 1, 3), "ground": False}, BLOCK),
    ],
)
def test_the_radius_is_found_from_pixels(name, settings, values):
    ball = Ball(radius=0.17, centre=(0.02, -0.22, 0.01))
    model = WithTerms(get_model(name)(**settings), {"ball": ball})
    view = fitting.Orbit(distance=0.75, elevation=20, azimuth=30, target=(0.0, -0.06, 0.0), size=(32, 32))
    params = model.params(torch.float64, **values)
    scene = fitting.Scene(model, get_renderer("softras")(), view, params, dt=1e-3, steps=200)
    times = torch.linspace(0.04, 0.2, 5, dtype=torch.float64)
    video = fitting.synthesise(scene, {"ball.radius": 0.2}, times)
    found = float(fitting.fit(scene, video, {"ball.radius": 0.17}, iterations=20)["ball.radius"])
    assert abs(found - 0.2) < 1e-3 * 0.2
