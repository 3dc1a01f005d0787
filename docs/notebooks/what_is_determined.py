# %% [markdown]
# # What a video determines
#
# A fit always returns numbers; the verdict says whether the video determines them. Take the ball of [A first
# fit](first_fit.md) with the camera's distance as a second unknown.
# %%
import torch

import diffloom_fitting as fitting
from diffloom.plugins import get_model, get_renderer

ball = get_model("fem")("ball", radius=0.3)
view = fitting.Orbit(distance=2, elevation=10, size=(48, 48))
scene = fitting.Scene(ball, get_renderer("softras")(), view, ball.params(position=[0, 0.5, 0]), dt=1e-3, steps=400)
video = fitting.synthesise(scene, {"shear_modulus": 4e3}, rate=20)
found = fitting.fit(scene, video, {"shear_modulus": 3e3, "camera.distance": 2.1})
for estimate in found.estimates:
    print(f"{estimate.name}: {float(estimate.found):.6g} {estimate.unit}")
# %% [markdown]
# Both are found, because the size of the ball is known. Now only the first three frames are used, in which the ball is
# still falling: nothing has compressed it, so no pixel depends on its stiffness.
# %%
falling = fitting.fit(scene, video.first(3), {"shear_modulus": 3e3})
print(falling.verdict)
# %% [markdown]
# `falling` has a number as well, close to its start, but the verdict is not green, and it has no ±. The images confirm
# it: with ten times the stiffness they do not change.
# %%
soft, stiff = (scene.render({"shear_modulus": torch.tensor(mu)}, video.times[:3]).image.rgb for mu in (3e3, 3e4))
print(f"largest difference of a pixel: {float((soft - stiff).abs().max()):.1e}")
# %% [markdown]
# Seen to its end, the motion differs: the soft ball at the left, the stiff one at the right.
# %%
from diffloom_studio import draw_on_ground

times = torch.linspace(0.0, 0.4, 12)
pair = [draw_on_ground(scene, times, {"shear_modulus": mu}) for mu in (3e3, 3e4)]
fitting.Target(times.double(), torch.cat(pair, dim=2))
