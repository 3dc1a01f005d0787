"""Strain: how far a falling ball is stretched, from its surface alone; and the same motion as files for other tools."""

import sys
from pathlib import Path

import torch

import diffloom_fitting as fitting
from diffloom import get_model, get_renderer
from diffloom.interfaces import Surface
from diffloom_studio import draw_surface_on_ground, write_video
from diffloom_studio.exports import export
from diffloom_studio.playback import Playback, compute_strain, scale_colours

ball = get_model("fem")("ball", radius=0.3)
view = fitting.Orbit(distance=1.9, elevation=12, target=(0, 0.33, 0), size=(240, 320))
params = ball.params(position=[0, 0.45, 0], velocity=[0, -3, 0], shear_modulus=3e3, density=100.0)
scene = fitting.Scene(ball, get_renderer("coverage")(), view, params, dt=5e-4, steps=640)
target = fitting.synthesise(scene, {}, rate=10)
playback = Playback(fitting.Experiment(scene, target, [fitting.Unknown("density", 100.0)]), {"start": {}})
body = playback.body("start", torch.linspace(0.0, 0.32, 32, dtype=torch.float64))
found = [compute_strain(body.vertices[0], now, body.faces) for now in body.vertices]
most, frames = max(float(one.max()) for one in found), []
for now, one in zip(body.vertices, found, strict=True):
    colours = torch.tensor(scale_colours(one, most)).float() / 255.0
    surface = Surface(torch.tensor(now)[None], torch.tensor(body.faces), colours=colours)
    frames.append(draw_surface_on_ground(scene.renderer, surface, view.camera(torch.float32)))
out = Path((sys.argv + ["export_and_strain.webp"])[1])
write_video(out, torch.cat(frames), rate=16)
for ending in ("glb", "csv"):
    print(export(playback, out.with_suffix(f".{ending}"), "start", frames=9).name)
