import math

import pytest
import torch

from diffloom.interfaces import AmbientLight, DirectionalLight, HarmonicLight, InputError, Material, PointLight
from diffloom_raster import harmonics, irradiance, shade

D = torch.float64


def vectors(seed, n=5):
    return torch.randn((n, 3), generator=torch.Generator().manual_seed(seed), dtype=D)


def test_unlit_shows_the_own_colour():
    c = torch.rand((4, 3))
    assert shade(c, c, c, c, Material("unlit"), ()) is c


def test_lambert_by_hand():
    material = Material("lambert", ambient=0.5, diffuse=0.25)
    lights = (AmbientLight((0.2, 0.4, 0.6)), DirectionalLight((0.0, 2.0, 0.0), diffuse=0.8))
    tilt = math.radians(60.0)
    n = torch.tensor([[math.sin(tilt), math.cos(tilt), 0.0], [0.0, -1.0, 0.0]], dtype=D)
    got = shade(torch.tensor([0.5, 1.0, 1.0], dtype=D), torch.zeros((2, 3), dtype=D), n, n[0], material, lights)
    ambient = torch.tensor([0.05, 0.2, 0.3], dtype=D)
    assert torch.allclose(got[0], ambient + torch.tensor([0.5, 1.0, 1.0], dtype=D) * 0.25 * 0.8 * 0.5)
    assert torch.allclose(got[1], ambient)


def test_phong_highlight_by_hand():
    lights = (PointLight((0.0, 1.0, 1.0), diffuse=0.0, specular=(1.0, 0.5, 0.0)),)
    normal, place = torch.tensor([[0.0, 1.0, 0.0]], dtype=D), torch.zeros((1, 3), dtype=D)
    mirror = torch.tensor([0.0, 1.0, -1.0], dtype=D)
    grazing = torch.tensor([0.0, math.cos(math.radians(75)), -math.sin(math.radians(75))], dtype=D)
    material = Material("phong", specular=0.5, shininess=4.0)
    got = shade(place, place, normal, mirror, material, lights)[0]
    assert torch.allclose(got, torch.tensor([0.5, 0.25, 0.0], dtype=D))
    want = 0.5 * math.cos(math.radians(30.0)) ** 4
    assert shade(place, place, normal, 3.0 * grazing, material, lights)[0, 0] == pytest.approx(want)


def test_no_highlight_from_behind():
    lights = (PointLight((0.0, -1.0, 0.0), diffuse=0.0, specular=1.0),)
    normal, place = torch.tensor([[0.0, 1.0, 0.0]], dtype=D), torch.zeros((1, 3), dtype=D)
    assert shade(place, place, normal, normal[0], Material("phong"), lights).abs().max() == 0


def test_no_lights_means_the_default_lights():
    c = torch.full((1, 3), 0.5, dtype=D)
    up = torch.tensor([[0.0, 1.0, 0.0]], dtype=D)
    assert shade(c, torch.zeros_like(c), up, up, Material("lambert"), ()).min() > 0.25


def test_harmonics_are_orthonormal():
    k = torch.arange(20000, dtype=D) + 0.5
    polar, turn = torch.acos(1 - 2 * k / 20000), math.pi * (1 + 5**0.5) * k
    n = torch.stack([polar.sin() * turn.cos(), polar.sin() * turn.sin(), polar.cos()], dim=-1)
    y = harmonics(n)
    assert torch.allclose(y.T @ y * (4 * math.pi / 20000), torch.eye(9, dtype=D), atol=1e-3)


def test_grey_and_coloured_irradiance_agree():
    n = torch.nn.functional.normalize(vectors(2), dim=-1)
    c = torch.arange(9, dtype=D)
    grey = irradiance(HarmonicLight(c), n)
    assert torch.allclose(grey, irradiance(HarmonicLight(c[:, None].expand(9, 3)), n))


@pytest.mark.parametrize("shading", ["lambert", "phong"])
def test_gradients_of_every_input(shading):
    def run(colour, position, normal, eye, lamp, diffuse, specular, direction, ambient, sh, ma, md, ms, shine):
        lights = (
            PointLight(lamp, diffuse, specular), DirectionalLight(direction, diffuse, specular),
            AmbientLight(ambient), HarmonicLight(sh),
        )  # fmt: skip
        return shade(colour, position, normal, eye, Material(shading, ma, md, ms, shine), lights)

    one = [torch.rand((3,), generator=torch.Generator().manual_seed(k), dtype=D) for k in range(8)]
    position = vectors(7) * 0.3
    normal = torch.tensor([0.0, 2.0, 0.5], dtype=D) + 0.2 * vectors(9)
    inputs = (
        one[0].expand(5, 3), position, normal, one[1] + 2.0, one[2] + 3.0, one[3], one[4], one[5] + 0.5, one[6],
        vectors(3, 9), one[7], one[0], one[1], torch.tensor(7.0, dtype=D),
    )  # fmt: skip
    assert torch.autograd.gradcheck(run, tuple(t.clone().requires_grad_() for t in inputs))


def test_bad_light_is_named():
    c = torch.zeros((1, 3))
    with pytest.raises(InputError, match=r"PointLight\.position.*three"):
        shade(c, c, c, c, Material("phong"), (PointLight(torch.zeros(2)),))
