"""Control: which forces on its free end swing a hanging chain so that the end stops where we want it?"""

import sys

import torch

import diffloom_fitting as fitting
from diffloom import Control, get_model, get_renderer, simulate
from diffloom_studio import draw_on_ground, write_video

places = [[0.0, 1.0 - 0.15 * k, 0.0] for k in range(6)]
chain = get_model("springs")(places, [[k, k + 1] for k in range(5)], fixed=[0], on_ground=False, radius=0.05)
params, steps, goal = chain.params(torch.float64, stiffness=400.0, damping=0.5), 400, torch.tensor([0.5, 0.6, 0.0])
pushes, guesses = torch.zeros(8, 2, dtype=torch.float64, requires_grad=True), []
adam = torch.optim.Adam([pushes], lr=0.2)
for _ in range(60):
    force = torch.zeros(steps, 6, 3, dtype=torch.float64)
    force[:, 5, :2] = pushes.repeat_interleave(steps // 8, dim=0)
    guesses.append(force.detach())
    path = simulate(chain, params, dt=2e-3, steps=steps, save=(steps,), control=Control({"force": force}))
    loss = (path.q[-1, 5] - goal).square().sum() + 0.02 * path.u[-1, 5].square().sum() + 1e-4 * pushes.square().sum()
    adam.zero_grad()
    loss.backward()
    adam.step()
print(f"the end is {float((path.q[-1, 5] - goal).norm().detach()):.3f} m from its goal")

view = fitting.Orbit(distance=1.9, elevation=6, target=(0.2, 0.55, 0), size=(240, 320), fov=42)
look, frames = fitting.Appearance(pattern="position", shading="phong"), []
for force in (guesses[0], guesses[8], guesses[20], guesses[-1]):
    scene = fitting.Scene(chain, get_renderer("coverage")(), view, params, dt=2e-3, steps=steps,
                          control=Control({"force": force}), appearance=look)  # fmt: skip
    frames.append(draw_on_ground(scene, torch.linspace(0.0, 0.8, 14)))
write_video((sys.argv + ["control_chain.webp"])[1], torch.cat(frames).float(), rate=14)
