"""Smoke carried by an incompressible flow on a grid: the model "smoke" of diffloom."""
