"""Uncertainty: the same fit from a clean video and from noisy ones; the values found, their ±, and the verdicts."""

import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import torch

import diffloom_fitting as fitting
from diffloom import get_model, get_renderer
from diffloom_studio import write_video

ball, view = get_model("fem")("ball", radius=0.3), fitting.Orbit(distance=2, elevation=10, size=(48, 48))
scene = fitting.Scene(ball, get_renderer("coverage")(), view, ball.params(position=[0, 0.5, 0]), dt=1e-3, steps=400)
clean = fitting.synthesise(scene, {"shear_modulus": 4e3}, rate=20)
draw, frames, points = torch.Generator().manual_seed(5), [], []
tones = {"red": "#b3261e", "amber": "#d98b00", "green": "#2c8a57"}
for noise in (0.0, 0.02, 0.05, 0.1):
    shown = (clean.frames[..., :3] + noise * torch.randn(clean.frames[..., :3].shape, generator=draw)).clamp(0.0, 1.0)
    video = fitting.Target(clean.times, shown) if noise else clean  # noisy ones count as recordings
    found = fitting.fit(scene, video, {"shear_modulus": 2e3})
    (one,) = found.estimates
    points.append((f"{noise:.0%}", float(one.found), float(one.deviation or 0.0), found.verdict.level))
    for image in shown:
        figure, (left, right) = plt.subplots(1, 2, figsize=(3.6, 2.7), dpi=100, layout="constrained")
        left.imshow(image.numpy())
        left.set_title(f"noise {points[-1][0]}", fontsize=9)
        left.axis("off")
        right.axhline(4e3, linestyle="--", color="grey")
        for name, value, deviation, level in points:
            right.errorbar(name, value, deviation, fmt="o", color=tones[level])
        right.set(ylim=(3.5e3, 4.5e3), xlim=(-0.5, 3.5), title="found [Pa]")
        figure.canvas.draw()
        frames.append(np.asarray(figure.canvas.buffer_rgba())[..., :3])
        plt.close(figure)
write_video((sys.argv + ["uncertainty.webp"])[1], np.stack(frames), rate=6)
