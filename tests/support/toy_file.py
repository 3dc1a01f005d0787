"""An experiment file of the toys."""

TOY = """
title = "A thrown triangle"
[model]
name = "toy"
count = 1
[params]
velocity = [[1.0, 2.0, 0.0]]
[time]
dt = "1/25"
steps = 10
integrator = "toy_steps"
[camera]
distance = 5
elevation = 10
size = [16, 16]
[appearance]
colour = [0.9, 0.6, 0.3]
[renderer]
name = "spots"
[renderer.spots]
sigma = 2.0
[target]
rate = 25
frames = { every = 2 }
[truth]
gravity = { uniform = [5.0, 8.0] }
drag = 0.8
[unknowns.gravity]
start = { uniform = [6.0, 12.0] }
[unknowns.drag]
start = "0.4 1/s"
[[stages]]
optimiser = "gauss_newton"
iterations = 12
[variants.quick]
"stages.0.iterations" = 2
"camera.size" = [8, 8]
"""
