"""Images against another way to compute them, and areas against closed forms."""

import math

import coverage_reference as reference
import pytest
import torch

from diffloom.interfaces import Camera, Surface
from diffloom_raster import project
from diffloom_render_coverage.renderer import CoverageRenderer

SIZE = (12, 14)
VIEW = Camera.look_at((0.1, 0.2, 3.0), (0.0, 0.0, 0.0), fov=40.0, size=SIZE, near=0.1, far=10.0, dtype=torch.float64)


def soup(seed, count=6):
    """Triangles one behind the other, none of which touch."""
    random = torch.Generator().manual_seed(seed)
    corners = 2.0 * torch.rand((count, 3, 3), generator=random, dtype=torch.float64) - 1.0
    corners[..., 2] = 0.1 * corners[..., 2] + 0.3 * torch.arange(count, dtype=torch.float64)[:, None] - 0.15 * count
    colours = torch.rand((3 * count, 3), generator=random, dtype=torch.float64)
    order = torch.randperm(count, generator=random)
    return Surface(corners[order].reshape(1, -1, 3), torch.arange(3 * count).reshape(-1, 3), colours=colours)


@pytest.mark.parametrize("seed", range(4))
def test_images_agree_with_another_way(seed):
    surface = soup(seed)
    screen = project(surface.vertices, VIEW)[0] + torch.tensor([0.5 * SIZE[1], 0.5 * SIZE[0], 0.0])
    wanted = reference.draw(screen.numpy(), surface.faces.numpy(), surface.colours.numpy(), SIZE)
    found = CoverageRenderer().render(surface, VIEW).rgba[0]
    assert wanted[..., 3].max() > 0.99
    assert float((found - torch.from_numpy(wanted)).abs().max()) < 1e-10


def sphere(radius, subdivisions=5):
    """An icosphere whose facets are too small to be seen, (vertices, faces)."""
    a = (1.0 + math.sqrt(5.0)) / 2.0
    v = torch.tensor(
        [[-1, a, 0], [1, a, 0], [-1, -a, 0], [1, -a, 0], [0, -1, a], [0, 1, a], [0, -1, -a], [0, 1, -a], [a, 0, -1],
         [a, 0, 1], [-a, 0, -1], [-a, 0, 1]], dtype=torch.float64,
    )  # fmt: skip
    f = torch.tensor(
        [[0, 11, 5], [0, 5, 1], [0, 1, 7], [0, 7, 10], [0, 10, 11], [1, 5, 9], [5, 11, 4], [11, 10, 2], [10, 7, 6],
         [7, 1, 8], [3, 9, 4], [3, 4, 2], [3, 2, 6], [3, 6, 8], [3, 8, 9], [4, 9, 5], [2, 4, 11], [6, 2, 10], [8, 6, 7],
         [9, 8, 1]],
    )  # fmt: skip
    for _ in range(subdivisions):
        edges = torch.cat([f[:, [0, 1]], f[:, [1, 2]], f[:, [2, 0]]]).sort(dim=1).values
        pairs, back = edges.unique(dim=0, return_inverse=True)
        ab, bc, ca = (len(v) + back).reshape(3, -1)
        v = torch.cat([v, v[pairs].mean(dim=1)])
        a, b, c = f.unbind(1)
        f = torch.stack([a, ab, ca, b, bc, ab, c, ca, bc, ab, bc, ca], dim=1).reshape(-1, 3)
    return radius * v / v.norm(dim=1, keepdim=True), f


@pytest.mark.parametrize("pixels", [1.5, 4.4, 9.0, 17.0])
def test_a_sphere_is_drawn_in_its_size(pixels):
    """The outline of a sphere on the axis is a circle of radius f R / sqrt(d^2 - R^2)."""
    size, distance, radius = 48, 3.0, 0.3
    tangent = radius / math.sqrt(distance**2 - radius**2)
    view = Camera.look_at((0.0, 0.0, distance), (0.0, 0.0, 0.0), fov=40.0, size=(size, size), dtype=torch.float64)
    view = type(view)(**{**vars(view), "focal": torch.full((2,), pixels / tangent, dtype=torch.float64)})
    vertices, faces = sphere(radius)
    alpha = CoverageRenderer().render(Surface(vertices[None], faces), view, outputs=("silhouette",)).silhouette
    drawn = math.sqrt(float(alpha.sum()) / math.pi)
    assert abs(drawn / pixels - 1.0) < 0.002
