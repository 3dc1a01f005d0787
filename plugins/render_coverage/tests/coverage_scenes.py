"""Scenes that several test files draw."""

import torch

from diffloom.interfaces import AmbientLight, Camera, DirectionalLight, PointLight, Surface, join_surfaces

D = torch.float64
SIZE = (14, 18)
VIEW = Camera.look_at((0.2, 0.5, 3.0), (0.0, 0.0, 0.0), fov=45.0, size=SIZE, near=0.1, far=10.0, dtype=D)
OCTAHEDRON = torch.tensor([(0, 2, 4), (2, 1, 4), (1, 3, 4), (3, 0, 4), (2, 0, 5), (1, 2, 5), (3, 1, 5), (0, 3, 5)])


def random_scene(seed):
    """Two bodies and an open sheet one behind the other, all in the picture, none touching."""
    random = torch.Generator().manual_seed(seed)

    def numbers(*shape):
        return torch.rand(shape, generator=random, dtype=D)

    bodies = []
    for depth, size in ((0.9, 0.25), (0.0, 0.5)):
        corners = torch.cat([torch.eye(3, dtype=D), -torch.eye(3, dtype=D)])[[0, 3, 1, 4, 2, 5]]
        corners = size * corners * (0.7 + 0.6 * numbers(6, 1)) + 0.1 * size * (numbers(6, 3) - 0.5)
        place = torch.cat([0.9 * (numbers(2) - 0.5), torch.tensor([depth], dtype=D)])
        bodies.append(Surface((corners + place)[None], OCTAHEDRON, colours=numbers(6, 3)))
    sheet = torch.tensor([[-1.2, -0.7, -1.0], [1.2, -0.8, -0.9], [1.1, 0.7, -1.3], [-1.1, 0.8, -1.2]], dtype=D)
    sheet = sheet + 0.2 * (numbers(4, 3) - 0.5)
    bodies.append(Surface(sheet[None], torch.tensor([[0, 1, 2], [0, 2, 3]]), colours=numbers(4, 3)))
    return join_surfaces(bodies)


LIGHTS = (
    AmbientLight(torch.tensor([0.3, 0.35, 0.4], dtype=D)),
    PointLight(torch.tensor([0.8, 1.5, 2.5], dtype=D), torch.tensor([0.4, 0.3, 0.5], dtype=D), 0.3),
    DirectionalLight(torch.tensor([-0.6, 0.9, 1.1], dtype=D), 0.4, torch.tensor([0.2, 0.1, 0.3], dtype=D)),
)
