"""Find the radius of an invisible soft ball from videos of a sheet and of a rubber block that fall on it."""

import sys
from dataclasses import replace

import torch
from PIL import Image

import diffloom_fitting as fitting
from diffloom import get_model, get_renderer
from diffloom_mechanics import WithTerms, get_term

ball = get_term("ball")(radius=0.17, centre=(0.02, -0.22, 0.01))
sheet = get_model("cloth")({"shape": "grid", "cells": [6, 6], "size": [0.6, 0.6]})
block = get_model("fem")("box", size=(0.3, 0.1, 0.3), cells=(3, 1, 3), ground=False)
cases = (
    (sheet, {"bending_stiffness": 2e-3, "ball.contact_stiffness": 100.0, "ball.contact_dissipation": 1.0}),
    (block, {"position": (0.0, 0.05, 0.0), "shear_modulus": 5e4, "ball.contact_stiffness": 500.0}),
)
view = fitting.Orbit(distance=0.75, elevation=20, azimuth=30, target=(0.0, -0.06, 0.0), size=(32, 32))
renderer = get_renderer("softras")(background=(0.05, 0.1, 0.2))
appearance = fitting.Appearance(colour=(0.9, 0.5, 0.2), shading="lambert")
times = torch.linspace(0.04, 0.2, 5, dtype=torch.float64)
truth, guess, found, rows = 0.2, 0.17, [], []
for model, values in cases:
    falling = WithTerms(model, {"ball": ball})
    params = falling.params(torch.float64, **values)
    scene = fitting.Scene(falling, renderer, view, params, dt=1e-3, steps=200, appearance=appearance)
    video = fitting.synthesise(scene, {"ball.radius": truth}, times, levels=255)
    result = fitting.fit(scene, video, {"ball.radius": guess}, iterations=12)
    print(result)
    found.append(float(result["ball.radius"]))
    large = replace(scene, camera=replace(view, size=(100, 100)))
    for radius in (truth, guess, found[-1]):
        rows.append(large.render({"ball.radius": torch.tensor(radius).double()}, times).image.bytes()[..., :3])
print(f"found {found} m, truth {[truth, truth]}")
if len(sys.argv) > 1:  # an image: the video, the guess and the fit of each, one below the other
    Image.fromarray(torch.cat([torch.cat(list(row), dim=1) for row in rows]).numpy()).save(sys.argv[1])
