"""Fits of a simulation's parameters to a target: scenes, losses, optimisers and verdicts.

import diffloom_fitting as fitting
from diffloom_video import read_video
from diffloom.plugins import get_model

ball = get_model("fem")("ball", radius=0.3)
view = fitting.Orbit(distance=2, elevation=10, size=(48, 48))
scene = fitting.Scene(ball, "softras", view, ball.params(position=[0, 0.5, 0]), dt=1e-3, steps=400)
video = read_video("clip.mp4", size=(48, 48))
print(fitting.fit(scene, video, {"shear_modulus": 2e3}))
"""

from diffloom.lazy import lazy_exports

__getattr__, __dir__ = lazy_exports(__name__)
