"""Uncertainty: the same fit from a clean video and from noisy ones; the values found, their ±, and the verdicts."""

import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import torch

import diffloom_fitting as fitting
from diffloom.plugins import get_model, get_renderer

ball, view = get_model("fem")("ball", radius=0.3), fitting.Orbit(distance=2, elevation=10, size=(48, 48))
scene = fitting.Scene(ball, get_renderer("coverage")(), view, ball.params(position=[0, 0.5, 0]), dt=1e-3, steps=400)
clean = fitting.synthesise(scene, {"shear_modulus": 4e3}, rate=20)
draw = torch.Generator().manual_seed(5)
figure, axis = plt.subplots(figsize=(6, 3), layout="constrained")
for number, noise in enumerate((0.0, 0.02, 0.05, 0.1)):
    shown = clean.frames[..., :3] + noise * torch.randn(clean.frames[..., :3].shape, generator=draw)
    video = fitting.Target(clean.times, shown.clamp(0.0, 1.0)) if noise else clean  # noisy ones count as recordings
    found = fitting.fit(scene, video, {"shear_modulus": 2e3})
    (one,) = found.estimates
    error = 0.0 if one.deviation is None else float(one.deviation)
    axis.errorbar(number, float(one.found), error, fmt="o", color="tab:blue", capsize=4)
    axis.annotate(found.verdict.level, (number, float(one.found)), textcoords="offset points", xytext=(8, 6))
axis.axhline(4e3, linestyle="--", color="grey")
axis.margins(x=0.12)
axis.set(xticks=range(4), xticklabels=["none", "2 %", "5 %", "10 %"], xlabel="noise", ylabel="shear modulus [Pa]")
figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "uncertainty.png", dpi=110)
