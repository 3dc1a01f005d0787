# %% [markdown]
# # From a fit to other programs
#
# Save a result, load it, play it back, measure it, and write files for other programs.
# %%
import diffloom_fitting as fitting
from diffloom.plugins import get_model, get_renderer

ball = get_model("fem")("ball", radius=0.3)
view = fitting.Orbit(distance=2, elevation=10, size=(48, 48))
scene = fitting.Scene(ball, get_renderer("softras")(), view, ball.params(position=[0, 0.5, 0]), dt=1e-3, steps=400)
video = fitting.synthesise(scene, {"shear_modulus": 4e3}, rate=20)
experiment = fitting.Experiment(scene, video, [fitting.Unknown("shear_modulus", 2e3)])
found = fitting.run_fit(experiment)
found.save("kept")
again = fitting.Result.load("kept")
print(f"{float(again['shear_modulus']):.1f} Pa, verdict {again.verdict.level}")
# %% [markdown]
# A playback simulates the start, the fit and the truth again. How far is the surface stretched, over time?
# %%
from diffloom_studio.playback import compute_strain, make_playback

playback = make_playback(experiment, found.z)
body = playback.body("fit", playback.times(9))
for time, now in zip(body.times, body.vertices, strict=True):
    print(f"{time:.2f} s: {compute_strain(body.vertices[0], now, body.faces).max():.3f}")
# %% [markdown]
# Write the motion as an animated mesh, a table and a video:
# %%
from diffloom_studio.exports import export

for name in ("ball.glb", "ball.csv", "ball.mp4"):
    written = export(playback, name, frames=9)
    print(written.name, written.stat().st_size > 0)
# %% [markdown]
# The motion, on a ground with light and shadow:
# %%
import torch

from diffloom_studio import draw_on_ground

times = torch.linspace(0.0, 0.4, 12, dtype=torch.float64)
fitting.Target(times, draw_on_ground(scene, times, {"shear_modulus": again["shear_modulus"]}))
# %% [markdown]
# A surface is displayed too:
# %%
ball.surface(body.trajectory, body.params)
