"""Arguments passed to Kaolin, and our own results, against the library's torch code, which needs no GPU."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest
import torch

from diffloom.interfaces import Camera, HarmonicLight, Material, Texture
from diffloom_raster import sample_texture, shade
from diffloom_render_dibr import kaolin_backend
from diffloom_render_dibr.renderer import DibrRenderer


class Handed(Exception):
    """Arguments that the adapter passes to dibr_rasterization."""


@pytest.fixture
def handed(monkeypatch):
    """Render through the adapter up to the library's door."""

    def take(*args, **more):
        raise Handed(args, more)

    monkeypatch.setattr(kaolin_backend, "import_kaolin_mesh", lambda: SimpleNamespace(dibr_rasterization=take))
    monkeypatch.setattr(kaolin_backend, "check_usable", lambda vertices: None)

    def render(surface, view, **settings):
        with pytest.raises(Handed) as caught:
            DibrRenderer(backend="kaolin", **settings).render(surface, view)
        return caught.value.args

    return render


def test_projection_and_normals(kaolin, handed, ball):
    """Corners and normals of prepare_vertices, with the camera of Kaolin's own look-at."""
    surface = ball(level=2)
    eye, at, up = ([0.4, 0.7, 3.1], [0.05, -0.02, 0.0], [0.0, 1.0, 0.0])
    view = Camera.look_at(tuple(eye), tuple(at), fov=48.0, size=(40, 60), dtype=torch.float64)
    args, more = handed(surface, view, compat="kaolin", sigmainv=500.0, boxlen=0.1, knum=7)
    rotation, place = kaolin.render.camera.generate_rotate_translate_matrices(
        *(torch.tensor([row], dtype=torch.float64) for row in (eye, at, up))
    )
    lens = kaolin.render.camera.generate_perspective_projection(math.radians(48.0), 60 / 40, dtype=torch.float64)
    corners, image, normals = kaolin.render.mesh.prepare_vertices(
        surface.vertices, surface.faces, lens, camera_rot=rotation, camera_trans=place
    )
    height, width, z, ours, _, facing = args
    assert (height, width) == (40, 60)
    # its look-at guards lengths with 1e-10
    torch.testing.assert_close(z, corners[..., 2], rtol=0.0, atol=1e-9)
    # the lens is made in float32 on its way
    torch.testing.assert_close(ours, image, rtol=0.0, atol=1e-6)
    assert torch.equal(facing >= 0, normals[..., 2] >= 0)
    assert 50 < int((facing >= 0).sum()) < 270
    assert more == {"sigmainv": 500.0, "boxlen": 0.1, "knum": 7}


def test_faces_behind_the_camera_are_out_of_reach(handed, ball, camera):
    """Kaolin would draw them upside down, and let them soften the mask."""
    surface, view = ball(level=2), camera(near=3.0)
    (_, _, z, image, features, facing), more = handed(surface, view, compat="kaolin", cull_backfaces=False)
    away = facing < 0
    assert 20 < int(away.sum()) < 300
    assert float(image[away].amin()) > 1.0 + more["boxlen"]
    assert float(image[~away].abs().amax()) < 2.0
    assert bool(torch.isfinite(features).all() and (z[away] == -view.far).all())


@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
def test_texture_mapping(kaolin, mode):
    random = torch.Generator().manual_seed(0)
    image = torch.rand((5, 7, 3), generator=random, dtype=torch.float64)
    uv = 1.3 * torch.rand((200, 2), generator=random, dtype=torch.float64) - 0.15
    theirs = kaolin.render.mesh.texture_mapping(uv[None, None], image.permute(2, 0, 1)[None], mode=mode)
    ours = sample_texture(Texture(image, uv, filter=mode, corners=False), uv)
    torch.testing.assert_close(ours, theirs[0, 0], rtol=0.0, atol=1e-12)


def test_harmonic_light(kaolin):
    """Ours are coefficients of irradiance, Kaolin's of radiance: pi, 2 pi / 3 and pi / 4 lie between, by degree.

    Its functions of odd order, every other one, have the opposite sign.
    """
    random = torch.Generator().manual_seed(1)
    normals = torch.nn.functional.normalize(torch.randn((50, 3), generator=random, dtype=torch.float64), dim=-1)
    lights = torch.randn(9, generator=random, dtype=torch.float64)
    theirs = kaolin.render.lighting.sh9_irradiance(lights, normals)
    factor = torch.tensor([math.pi, *(2 * math.pi / 3,) * 3, *(math.pi / 4,) * 5], dtype=torch.float64)
    factor[1::2] *= -1.0
    white, eye = torch.ones((50, 3), dtype=torch.float64), torch.zeros(3, dtype=torch.float64)
    ours = shade(white, normals, normals, eye, Material("lambert"), [HarmonicLight(factor * lights)])
    torch.testing.assert_close(ours, theirs[:, None].expand(-1, 3), rtol=1e-6, atol=1e-6)
