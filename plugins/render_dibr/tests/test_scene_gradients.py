"""Every output's gradient by every input, against differences in float64, in both modes."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from diffloom.interfaces import (
    AmbientLight,
    Camera,
    DirectionalLight,
    HarmonicLight,
    Material,
    PointLight,
    Surface,
    Texture,
)
from diffloom_render_dibr.renderer import DibrRenderer
from diffloom_testing.gradients import check_gradient

MODES = pytest.mark.parametrize("compat", [None, "kaolin"])
#: A mask wide enough to reach many pixels of a small image.
WIDE = {"sigmainv": 150.0, "boxlen": 0.3}


def tolerance(compat):
    # Kaolin's guards (1e-7 beside 1 - p, 1e-8 beside areas) are not part of what they guard.
    return 1e-6 if compat is None else 3e-4


def see(compat, surface, camera, lights=(), output="rgba"):
    image = DibrRenderer(compat=compat, **WIDE).render(surface, camera, lights, outputs=(output,))
    return getattr(image, output)


@MODES
@pytest.mark.parametrize("output", ["rgba", "silhouette", "depth"])
def test_vertices_and_camera(ball, camera, compat, output):
    base, eyes = ball(frames=2), camera()
    torch.manual_seed(1)
    colours = torch.rand((base.vertices.shape[1], 3), dtype=torch.float64)

    def draw(vertices, eye, rotation, focal, centre):
        view = Camera.intrinsics(rotation, eye, focal=focal, centre=centre, size=(32, 41))
        return see(compat, Surface(vertices, base.faces, colours=colours), view, output=output)

    results = check_gradient(
        draw,
        {
            "vertices": base.vertices, "eye": eyes.eye, "rotation": eyes.rotation, "focal": eyes.focal,
            "centre": eyes.centre,
        },
        step=1e-6, tolerance=tolerance(compat),
    )  # fmt: skip
    assert all(abs(r.autograd) > 1e-3 for r in results)


@MODES
@pytest.mark.parametrize("shading", ["lambert", "phong"])
def test_lit(ball, camera, compat, shading):
    base, eyes = ball(frames=2), camera()
    torch.manual_seed(2)
    given = {
        "vertices": base.vertices,
        "colours": torch.rand((base.vertices.shape[1], 3), dtype=torch.float64),
        "eye": torch.stack([eyes.eye, eyes.eye + 0.1]),
        "position": torch.tensor([1.0, 2.0, 2.5], dtype=torch.float64),
        "direction": torch.tensor([-1.0, 0.4, 1.0], dtype=torch.float64),
        "diffuse": torch.rand(3, dtype=torch.float64),
        "specular": torch.rand(3, dtype=torch.float64),
        "ambient": torch.rand(3, dtype=torch.float64),
        "harmonics": 0.2 * torch.randn((9, 3), dtype=torch.float64),
        "reflect": torch.rand(3, dtype=torch.float64),
        "shininess": torch.tensor(3.0, dtype=torch.float64),
    }

    def draw(vertices, colours, eye, position, direction, diffuse, specular, ambient, harmonics, reflect, shininess):
        view = Camera.intrinsics(eyes.rotation, eye, focal=eyes.focal, centre=eyes.centre, size=(32, 41))
        material = Material(shading, diffuse=reflect, specular=0.7, shininess=shininess)
        lights = (
            AmbientLight(ambient), PointLight(position, diffuse, specular), DirectionalLight(direction, 0.6, specular),
            HarmonicLight(harmonics),
        )  # fmt: skip
        surface = Surface(vertices, base.faces, colours=colours, material=material)
        return see(compat, surface, view, lights)[..., :3]

    results = check_gradient(draw, given, step=1e-6, tolerance=tolerance(compat))
    silent = {"specular", "shininess"} if shading == "lambert" else set()
    assert all((abs(r.autograd) > 1e-6) == (r.name not in silent) for r in results)


@MODES
@pytest.mark.parametrize("filter", ["bilinear", "nearest"])
@pytest.mark.parametrize("own_rows", [False, True])
def test_texture(ball, camera, compat, filter, own_rows):
    base = ball()
    torch.manual_seed(3)
    count = base.vertices.shape[1]
    uv = torch.rand((count + 5 if own_rows else count, 2), dtype=torch.float64)
    uv_faces = (base.faces + 5) if own_rows else None
    given = {"vertices": base.vertices, "image": torch.rand((7, 9, 3), dtype=torch.float64)}
    if filter == "bilinear":
        given["uv"] = uv

    def draw(vertices, image, uv=uv):
        texture = Texture(image, uv, uv_faces, filter=filter)
        surface = Surface(vertices, base.faces, texture=texture, material=Material("lambert"))
        return see(compat, surface, camera())

    results = check_gradient(draw, given, step=1e-7, tolerance=10 * tolerance(compat))
    assert all(abs(r.autograd) > 1e-3 for r in results)


@MODES
@pytest.mark.parametrize("per", ["all", "face", "vertex", "face over time", "vertex over time"])
def test_colours(ball, camera, compat, per):
    base = ball(frames=3)
    per, *times = per.split(" over ")
    torch.manual_seed(4)
    kind = "vertex" if per == "vertex" else "face"
    rows = {"all": (), "face": (base.faces.shape[0],), "vertex": (base.vertices.shape[1],)}[per]
    colours = torch.rand((*((3,) if times else ()), *rows, 3), dtype=torch.float64)

    def draw(colours):
        surface = Surface(base.vertices, base.faces, colours=colours, colour_per=kind)
        return see(compat, surface, camera())

    check_gradient(draw, {"colours": colours}, step=1e-3, tolerance=1e-9)


@MODES
@pytest.mark.parametrize("filter", ["bilinear", "nearest"])
def test_a_texture_over_time(ball, camera, compat, filter):
    """A moving camera and highlights, which ask for the frame of a pixel as well."""
    base, eyes = ball(frames=3), camera()
    torch.manual_seed(5)
    uv = torch.rand((base.vertices.shape[1], 2), dtype=torch.float64)
    given = {
        "vertices": base.vertices, "image": torch.rand((3, 7, 9, 3), dtype=torch.float64),
        "eye": torch.stack([eyes.eye, eyes.eye + 0.1, eyes.eye - 0.1]),
    }  # fmt: skip

    def draw(vertices, image, eye):
        view = Camera.intrinsics(eyes.rotation, eye, focal=eyes.focal, centre=eyes.centre, size=(32, 41))
        texture = Texture(image, uv, filter=filter)
        return see(compat, Surface(vertices, base.faces, texture=texture, material=Material("phong")), view)

    results = check_gradient(draw, given, step=1e-7, tolerance=10 * tolerance(compat))
    assert all(abs(r.autograd) > 1e-3 for r in results)
    linear = check_gradient(lambda image: draw(base.vertices, image, given["eye"]), {"image": given["image"]},
                            step=1e-3, tolerance=1e-9)  # fmt: skip
    assert all(abs(r.autograd) > 1e-3 for r in linear)


@pytest.mark.parametrize("appearance", ["vertex", "face", "image"])
def test_over_time_through_the_near_plane(ball, camera, appearance):
    """Faces that the near plane cuts take their colours from their own frame."""
    base = ball(frames=2)
    view = replace(camera(), near=float((camera().eye - base.vertices).norm(dim=-1).mean()))
    torch.manual_seed(6)
    rows = {"vertex": (base.vertices.shape[1],), "face": (base.faces.shape[0],), "image": (5, 6)}[appearance]
    uv = torch.rand((base.vertices.shape[1] + 3, 2), dtype=torch.float64)

    def draw(values, vertices):
        if appearance == "image":
            surface = Surface(vertices, base.faces, texture=Texture(values, uv, base.faces + 3))
        else:
            surface = Surface(vertices, base.faces, colours=values, colour_per=appearance)
        return see(None, surface, view)

    values = torch.rand((2, *rows, 3), dtype=torch.float64)
    moved = base.vertices.clone().requires_grad_()
    together = draw(values, moved)
    (slope,) = torch.autograd.grad(together.square().sum(), moved)
    for k in range(2):
        alone = draw(values[k], moved[k : k + 1])
        assert torch.equal(together[k], alone[0])
        (own,) = torch.autograd.grad(alone.square().sum(), moved)
        torch.testing.assert_close(slope[k], own[k], rtol=0.0, atol=1e-10)
    assert bool((see(None, Surface(base.vertices, base.faces), view) != together).any())
    results = check_gradient(lambda v: draw(v, base.vertices), {"v": values}, step=1e-3, tolerance=1e-9)
    assert all(abs(r.autograd) > 1e-3 for r in results)


def test_many_faces_beside_a_pixel(ball, camera):
    base = ball(level=2)

    def draw(vertices):
        image = DibrRenderer(sigmainv=150.0, boxlen=0.3, knum=5).render(
            Surface(vertices, base.faces), camera(), outputs=("silhouette",)
        )
        return image.silhouette

    results = check_gradient(draw, {"vertices": base.vertices}, step=1e-7, tolerance=1e-5)
    assert all(abs(r.autograd) > 1e-3 for r in results)
