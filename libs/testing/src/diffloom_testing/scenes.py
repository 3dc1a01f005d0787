"""Small scenes for checks of renderers."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import torch
from torch import Tensor

from diffloom.interfaces import (
    AmbientLight,
    Camera,
    DirectionalLight,
    Light,
    Material,
    PointLight,
    Surface,
    Texture,
    join_surfaces,
)

#: Rows and columns, of different number so that swapped axes have an effect.
SIZE = (20, 26)
NEAR, FAR = 0.5, 20.0
DISTANCE = 3.0


def camera(dtype: torch.dtype = torch.float64, size: tuple[int, int] = SIZE) -> Camera:
    """Return a camera that looks at the origin from the front, a little from above and from the right."""
    return Camera.look_at((0.5, 0.7, DISTANCE), (0.0, 0.0, 0.0), fov=50.0, size=size, near=NEAR, far=FAR, dtype=dtype)


def front(dtype: torch.dtype = torch.float64, size: tuple[int, int] = SIZE) -> Camera:
    """Return a camera that looks at the origin along -z from DISTANCE [m]."""
    return Camera.look_at((0.0, 0.0, DISTANCE), (0.0, 0.0, 0.0), fov=50.0, size=size, near=NEAR, far=FAR, dtype=dtype)


@cache
def octahedron_faces() -> Tensor:
    """Return an octahedron's faces (8, 3), counter-clockwise from outside; vertices are +x -x +y -y +z -z."""
    rows = [(0, 2, 4), (2, 1, 4), (1, 3, 4), (3, 0, 4), (2, 0, 5), (1, 2, 5), (3, 1, 5), (0, 3, 5)]
    return torch.tensor(rows, dtype=torch.int64)


def gem(frames: int = 1, dtype: torch.dtype = torch.float64) -> Surface:
    """Return an uneven octahedron about 1 m across, in six colours, that grows and drifts from frame to frame."""
    corners = torch.tensor(
        [[0.62, 0.05, 0.03], [-0.57, -0.04, 0.08], [0.07, 0.66, -0.05], [-0.03, -0.6, 0.02], [0.09, 0.04, 0.63],
         [0.02, -0.07, -0.55]], dtype=torch.float64,
    )  # fmt: skip
    drift = torch.tensor([0.07, -0.05, 0.04], dtype=torch.float64)
    vertices = torch.stack([(1.0 + 0.1 * k) * corners + k * drift for k in range(frames)])
    colours = torch.tensor(
        [[0.9, 0.3, 0.2], [0.2, 0.8, 0.3], [0.3, 0.4, 0.9], [0.8, 0.7, 0.2], [0.6, 0.2, 0.7], [0.2, 0.7, 0.7]],
        dtype=torch.float64,
    )
    return Surface(vertices.to(dtype), octahedron_faces(), colours=colours.to(dtype))


def make_occluded(seed: int) -> Surface:
    """Return two octahedra and an open sheet one behind the other, drawn from a seed: all near the origin, coloured per
    vertex, none touching, in float64.
    """
    random = torch.Generator().manual_seed(seed)

    def numbers(*shape: int) -> Tensor:
        return torch.rand(shape, generator=random, dtype=torch.float64)

    bodies = []
    corners = torch.eye(3, dtype=torch.float64).repeat_interleave(2, 0)
    corners[1::2] *= -1.0
    for depth, size in ((0.9, 0.25), (0.0, 0.5)):
        own = size * corners * (0.7 + 0.6 * numbers(6, 1)) + 0.1 * size * (numbers(6, 3) - 0.5)
        place = torch.cat([0.9 * (numbers(2) - 0.5), torch.tensor([depth], dtype=torch.float64)])
        bodies.append(Surface((own + place)[None], octahedron_faces(), colours=numbers(6, 3)))
    sheet = torch.tensor(
        [[-1.2, -0.7, -1.0], [1.2, -0.8, -0.9], [1.1, 0.7, -1.3], [-1.1, 0.8, -1.2]], dtype=torch.float64
    )
    sheet = sheet + 0.2 * (numbers(4, 3) - 0.5)
    bodies.append(Surface(sheet[None], torch.tensor([[0, 1, 2], [0, 2, 3]]), colours=numbers(4, 3)))
    return join_surfaces(bodies)


def with_shading(surface: Surface, shading: str = "lambert") -> Surface:
    """Return the surface with a material that responds to light."""
    material = Material(shading, ambient=0.6, diffuse=0.7, specular=0.3, shininess=5.0)  # type: ignore[arg-type]
    return replace(surface, material=material)


def lamps(dtype: torch.dtype = torch.float64) -> tuple[Light, ...]:
    """Return ambient light, a lamp and a sun, so dim that no colour reaches 1."""
    grey = torch.tensor([0.3, 0.32, 0.28], dtype=dtype)
    return (
        AmbientLight(grey),
        PointLight(torch.tensor([0.8, 1.5, 2.5], dtype=dtype), grey, 0.5 * grey),
        DirectionalLight(torch.tensor([-0.6, 0.9, 1.1], dtype=dtype), 0.8 * grey, 0.4 * grey),
    )


def square(depth: float, half: float = 0.5, dtype: torch.dtype = torch.float64) -> Surface:
    """Return a square across the viewing axis of ``front``, ``depth`` [m] before it."""
    z = DISTANCE - depth
    rows = [[-half, -half, z], [half, -half, z], [half, half, z], [-half, half, z]]
    faces = torch.tensor([[0, 1, 2], [0, 2, 3]], dtype=torch.int64)
    return Surface(torch.tensor([rows], dtype=dtype), faces, colours=torch.tensor([0.8, 0.4, 0.2], dtype=dtype))


def make_chequered(dtype: torch.dtype = torch.float64) -> Surface:
    """Return the gem under a texture of 5 x 4 texels."""
    bare = gem(dtype=dtype)
    random = torch.Generator().manual_seed(3)
    image = 0.2 + 0.6 * torch.rand((5, 4, 3), generator=random, dtype=torch.float64)
    uv = torch.tensor([[0.9, 0.5], [0.1, 0.4], [0.5, 0.9], [0.45, 0.1], [0.55, 0.52], [0.4, 0.6]], dtype=torch.float64)
    return Surface(bare.vertices, bare.faces, texture=Texture(image.to(dtype), uv.to(dtype)))
