"""Textured and coloured surfaces joined into one are drawn as each of them alone."""

import pytest
import torch

from diffloom.interfaces import InputError, Surface, Texture, join_surfaces
from diffloom.plugins import get_renderer
from diffloom_fitting import Orbit

DOUBLE = torch.float64
QUAD = torch.tensor([[-0.4, -0.4, 0.0], [0.4, -0.4, 0.0], [0.4, 0.4, 0.0], [-0.4, 0.4, 0.0]], dtype=DOUBLE)
FACES = torch.tensor([[0, 1, 2], [0, 2, 3]])
UV = torch.tensor([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]], dtype=DOUBLE)


def image(height, width, seed):
    return torch.rand((height, width, 3), generator=torch.Generator().manual_seed(seed), dtype=DOUBLE)


def quads():
    """Three squares beside each other: read from the edges of texels, coloured by vertices, read from their centres."""
    left = (QUAD - torch.tensor([1.0, 0.0, 0.0], dtype=DOUBLE))[None]
    right = (QUAD + torch.tensor([1.0, 0.0, 0.0], dtype=DOUBLE))[None]
    return [
        Surface(left, FACES, texture=Texture(image(5, 7, 0), UV, corners=False)),
        Surface(QUAD[None], FACES, colours=image(1, 4, 1)[0]),
        Surface(right, FACES, texture=Texture(image(6, 4, 2), UV[[1, 2, 3, 0]], torch.tensor([[0, 1, 2], [0, 2, 3]]))),
    ]


@pytest.mark.parametrize("name, settings", [("softras", {"sigma": 1e-6, "gamma": 1e-6}), ("dibr", {})])
def test_a_joined_surface_is_drawn_as_its_parts(name, settings):
    renderer = get_renderer(name)(background=(0.0, 0.0, 0.0), **settings)
    camera = Orbit(distance=3.0, elevation=0.0, azimuth=0.0, size=(24, 48)).camera(DOUBLE)

    def drawn(surface):
        return renderer.render(surface, camera, (), ("rgba",)).rgba

    apart = [drawn(surface) for surface in quads()]
    whole = drawn(join_surfaces(quads()))
    alone = [a[..., 3] > 0.999 for a in apart]
    assert all(int(mask.sum()) > 20 for mask in alone)
    for part, mask in zip(apart, alone, strict=True):
        assert float((whole[mask] - part[mask]).abs().max()) < 1e-9


def test_textures_change_over_time_and_take_gradients():
    moving = torch.stack([image(3, 3, 5), image(3, 3, 6)]).requires_grad_()
    first = Surface(QUAD[None].expand(2, -1, -1), FACES, texture=Texture(moving, UV))
    joined = join_surfaces([first, Surface(QUAD[None] + 2.0, FACES)])
    assert joined.texture.image.shape[0] == 2 and len(joined) == 2
    joined.texture.image.square().sum().backward()
    assert torch.equal(moving.grad, 2.0 * moving.detach())


def test_textures_with_different_filters_are_not_joined():
    sharp = Surface(QUAD[None], FACES, texture=Texture(image(3, 3, 5), UV, filter="nearest"))
    with pytest.raises(InputError, match="different filters"):
        join_surfaces([sharp, quads()[0]])
    with pytest.raises(InputError, match="'nearest'"):
        join_surfaces([sharp, quads()[1]])
