"""Strain: how far a falling ball is stretched, from its surface alone; and the same motion as files for other tools."""

import sys
from pathlib import Path

import torch

import diffloom_fitting as fitting
from diffloom.interfaces import Surface
from diffloom.plugins import get_model, get_renderer
from diffloom_studio import write_frames
from diffloom_studio.exports import export
from diffloom_studio.playback import Playback, compute_strain, scale_colours

ball, view = (
    get_model("fem")("ball", radius=0.3),
    fitting.Orbit(distance=1.4, elevation=10, target=(0, 0.3, 0), size=(150, 150)),
)
params = ball.params(position=[0, 0.45, 0], velocity=[0, -3, 0], shear_modulus=3e3, density=100.0)
scene = fitting.Scene(ball, get_renderer("dibr")(background=(0.93, 0.95, 0.97)), view, params, dt=5e-4, steps=400)
target = fitting.synthesise(scene, {}, rate=20)
experiment = fitting.Experiment(scene, target, [fitting.Unknown("density", 100.0)])
playback = Playback(experiment, {"start": {}})
body = playback.body("start", torch.tensor([0.0, 0.08, 0.12, 0.2], dtype=torch.float64))
found = [compute_strain(body.vertices[0], now, body.faces) for now in body.vertices]
most = max(float(one.max()) for one in found)
frames = []
for now, one in zip(body.vertices, found, strict=True):
    colours = torch.tensor(scale_colours(one, most)).float() / 255.0
    surface = Surface(torch.tensor(now)[None], torch.tensor(body.faces), colours=colours)
    frames.append(scene.renderer.render(surface, view.camera(torch.float32)).rgb)
out = Path(sys.argv[1] if len(sys.argv) > 1 else "export_and_strain.png")
write_frames(out, torch.cat(frames))
for ending in ("glb", "csv"):
    print(export(playback, out.with_suffix(f".{ending}"), "start", frames=9).name)
