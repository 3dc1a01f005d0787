"""A small experiment file without what it seeks: three masses on two springs."""

CHAIN = """
title = "A chain"
[model]
name = "springs"
positions = [[0, 0.5, 0], [0.4, 0.5, 0], [0.8, 0.5, 0]]
springs = [[0, 1], [1, 2]]
on_ground = false
[params]
rest_length = 0.2
[time]
dt = 2e-3
steps = 40
[camera]
distance = 3
size = [16, 16]
[renderer]
name = "softras"
[target]
rate = 50
"""
