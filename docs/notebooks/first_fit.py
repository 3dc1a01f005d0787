# %% [markdown]
# # A first fit
#
# A video shows a soft ball that falls and bounces. Find its stiffness with a scene that could have made the video, and
# one call.
# %%
import diffloom_fitting as fitting
from diffloom.plugins import get_model, get_renderer

ball = get_model("fem")("ball", radius=0.3)
view = fitting.Orbit(distance=2, elevation=10, size=(48, 48))
scene = fitting.Scene(ball, get_renderer("softras")(), view, ball.params(position=[0, 0.5, 0]), dt=1e-3, steps=400)
# %% [markdown]
# Here the video is made with a known stiffness; `read_video` would read one from a file. A target at the end of a cell
# is displayed.
# %%
video = fitting.synthesise(scene, {"shear_modulus": 4e3}, rate=20)
video
# %% [markdown]
# The fit starts from a guess that is half as stiff. It differentiates through renderer and physics, so it needs few
# iterations.
# %%
found = fitting.fit(scene, video, {"shear_modulus": 2e3})
found
# %% [markdown]
# The verdict says whether the number can be trusted, and ± how far; [Trust](../trust.md) explains both. The number
# itself:
# %%
print(f"{float(found['shear_modulus']):.1f} Pa, truth 4000 Pa")
