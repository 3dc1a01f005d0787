"""A hard landscape: the loss over one unknown, when the video is long and when only its beginning is used."""

import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import torch

import diffloom_fitting as fitting
from diffloom.plugins import get_model, get_renderer

ball, view = get_model("fem")("ball", radius=0.3), fitting.Orbit(distance=2, elevation=10, size=(48, 48))
scene = fitting.Scene(ball, get_renderer("softras")(), view, ball.params(position=[0, 0.5, 0]), dt=1e-3, steps=400)
video = fitting.synthesise(scene, {"shear_modulus": 4e3}, rate=20)
values = torch.logspace(3.0, 4.2, 25)
figure, axis = plt.subplots(figsize=(6, 3), layout="constrained")
for part in (1.0, 0.5):
    seen = video.until(part)
    losses = []
    for value in values:
        image = scene.render({"shear_modulus": value}, seen.times).image.rgb
        losses.append(float((image - seen.frames[..., :3]).square().mean()))
    axis.loglog(values, losses, label=f"first {part:.0%} of the video")
axis.axvline(4e3, linestyle="--", color="grey", label="truth")
axis.set(xlabel="shear modulus [Pa]", ylabel="mean squared pixel error")
axis.legend()
figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "landscape.png", dpi=110)
