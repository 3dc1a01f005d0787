"""A camera and lights that several test files use."""

import torch

from diffloom.interfaces import AmbientLight, Camera, DirectionalLight, PointLight

D = torch.float64
SIZE = (14, 18)
VIEW = Camera.look_at((0.2, 0.5, 3.0), (0.0, 0.0, 0.0), fov=45.0, size=SIZE, near=0.1, far=10.0, dtype=D)

LIGHTS = (
    AmbientLight(torch.tensor([0.3, 0.35, 0.4], dtype=D)),
    PointLight(torch.tensor([0.8, 1.5, 2.5], dtype=D), torch.tensor([0.4, 0.3, 0.5], dtype=D), 0.3),
    DirectionalLight(torch.tensor([-0.6, 0.9, 1.1], dtype=D), 0.4, torch.tensor([0.2, 0.1, 0.3], dtype=D)),
)
