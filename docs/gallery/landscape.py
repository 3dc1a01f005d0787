"""A loss landscape: the loss over one unknown, while more and more of the video is compared."""

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
scene = fitting.Scene(ball, get_renderer("softras")(), view, ball.params(position=[0, 0.5, 0]), dt=1e-3, steps=800)
video = fitting.synthesise(scene, {"shear_modulus": 4e3}, rate=40)
values, errors = torch.logspace(3.0, 4.2, 49), []
for value in values:
    image = scene.render({"shear_modulus": value}, video.times).image.rgb
    errors.append((image - video.frames[..., :3]).square().mean(dim=(1, 2, 3)))
whole = torch.stack(errors).cumsum(dim=1) / torch.arange(1, len(video) + 1)
frames = []
for count in range(11, len(video) + 1):
    figure, axis = plt.subplots(figsize=(3.2, 2.4), dpi=110, layout="constrained")
    axis.loglog(values, whole[:, count - 1].clamp_min(1e-9), color="#1f5fa8")
    axis.axvline(4e3, linestyle="--", color="#c4511d", label="truth")
    axis.set(xlabel="shear modulus [Pa]", ylabel="loss", ylim=(1e-6, 0.2))
    axis.set_title(f"first {float(video.times[count - 1]):.2f} s of the video", fontsize=9)
    figure.canvas.draw()
    frames.append(np.asarray(figure.canvas.buffer_rgba())[..., :3])
    plt.close(figure)
write_video((sys.argv + ["landscape.webp"])[1], np.stack(frames), rate=8)
