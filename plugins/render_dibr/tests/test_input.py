"""Errors name the input that is wrong."""

from __future__ import annotations

import pytest
import torch

from diffloom.interfaces import InputError, Surface
from diffloom_render_dibr.operators import rasterize, soft_mask
from diffloom_render_dibr.renderer import DibrRenderer


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"sigmainv": 0.0}, "sigmainv: got 0.0; expected a number above 0"),
        ({"sigmainv": float("nan")}, "sigmainv"),
        ({"boxlen": -0.1}, "boxlen: got -0.1"),
        ({"knum": 0}, "knum: got 0; expected 1 or more"),
        ({"compat": "koalin"}, "compat: got 'koalin'; expected 'kaolin' or None"),
        ({"backend": "cuda"}, "backend: got 'cuda'; expected one of auto, kaolin, native"),
        ({"target": "gpu"}, "target: got 'gpu'"),
        ({"background": (1.0, 1.0)}, "background"),
    ],
)
def test_settings(settings, words):
    with pytest.raises(InputError) as caught:
        DibrRenderer(**settings)
    assert words in str(caught.value)


def test_scene(ball, camera):
    surface = ball()
    renderer = DibrRenderer()
    with pytest.raises(InputError, match="outputs: got 'colour'"):
        renderer.render(surface, camera(), outputs=("colour",))
    with pytest.raises(InputError, match="no faces"):
        renderer.render(Surface(surface.vertices, surface.faces[:0]), camera())
    broken = surface.vertices.clone()
    broken[0, 3, 1] = float("nan")
    with pytest.raises(InputError, match=r"Surface.vertices: value at index \(0, 3, 1\) is nan"):
        renderer.render(Surface(broken, surface.faces), camera())
    with pytest.raises(InputError, match="float32"):
        renderer.render(surface, camera(dtype=torch.float32))
    with pytest.raises(InputError, match="frames"):
        renderer.render(ball(frames=2), _three_eyes(camera()))


def _three_eyes(view):
    import dataclasses

    return dataclasses.replace(view, eye=view.eye.expand(3, 3))


def test_operators():
    z, image = torch.zeros((1, 4, 3)), torch.zeros((1, 4, 3, 2))
    with pytest.raises(InputError, match="face_vertices_z: got shape"):
        rasterize(8, 8, z[:, :2], image, torch.zeros((1, 4, 3, 1)))
    with pytest.raises(InputError, match="face_features"):
        rasterize(8, 8, z, image, torch.zeros((1, 5, 3, 1)))
    with pytest.raises(InputError, match="valid faces"):
        rasterize(8, 8, z, image, torch.zeros((1, 4, 3, 1)), torch.ones((1, 3), dtype=torch.bool))
    with pytest.raises(InputError, match="empty list"):
        rasterize(8, 8, z, image, [])
    with pytest.raises(InputError, match="selected_face_idx"):
        soft_mask(image, torch.zeros((8, 8), dtype=torch.int64))
    with pytest.raises(InputError, match="compat"):
        soft_mask(image, torch.zeros((1, 8, 8), dtype=torch.int64), compat="Kaolin")


TRIANGLE = torch.tensor([[[[-0.5, -0.5], [0.5, -0.5], [0.0, 0.5]]]])


@pytest.mark.parametrize("compat", [None, "kaolin"])
def test_whole_numbers_are_taken_as_kaolin_passes_them(compat):
    """Kaolin's own Python calls with multiplier=1000, and eps=0 switches its guard off."""
    z, features = -torch.ones((1, 1, 3)), torch.arange(6.0).reshape(1, 1, 3, 2)
    found = []
    for numbers in ((1000, 0, 50, 1), (1000.0, 0.0, 50.0, 1.0)):
        multiplier, eps, sharpness, reach = numbers
        image = TRIANGLE.clone().requires_grad_()
        shown, index = rasterize(8, 8, z, image, features, multiplier=multiplier, eps=eps, compat=compat)
        mask = soft_mask(image, index, sharpness, reach, multiplier=multiplier, compat=compat)
        (shown.square().sum() + mask.sum()).backward()
        found.append((shown.detach(), mask.detach(), image.grad))
    assert all(torch.equal(whole, real) for whole, real in zip(*found, strict=True))
    assert bool(found[0][0].any() and found[0][2].any())


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"multiplier": "a"}, "multiplier: got 'a'; expected a number above 0"),
        ({"multiplier": float("nan")}, "multiplier: got nan"),
        ({"eps": -1.0}, "eps: got -1.0; expected a number of at least 0"),
        ({"height": 8.0}, "height: got 8.0; expected a whole number"),
        ({"width": 0}, "width: got 0; expected 1 or more"),
        ({"face_features": torch.zeros((1, 1, 3, 2), dtype=torch.int64)}, "face_features: got torch.int64"),
        ({"face_vertices_z": torch.zeros((1, 1, 3), dtype=torch.float64)}, "face_vertices_z: got torch.float64"),
        ({"valid_faces": torch.ones((1, 1))}, "valid faces: got torch.float32; expected bool"),
    ],
)
def test_operators_refuse_by_name(changes, words):
    given = {
        "height": 8, "width": 8, "face_vertices_z": -torch.ones((1, 1, 3)), "face_vertices_image": TRIANGLE,
        "face_features": torch.zeros((1, 1, 3, 2)),
    }  # fmt: skip
    for compat in (None, "kaolin"):
        with pytest.raises(InputError, match=words):
            rasterize(**{**given, **changes}, compat=compat)


def test_operators_under_a_transform():
    z, features = -torch.ones((1, 1, 3)), torch.zeros((1, 1, 3, 2))
    with pytest.raises(InputError, match="under no transform of torch.func"):
        torch.vmap(lambda image: rasterize(8, 8, z, image, features)[0])(TRIANGLE[None])


def test_a_changed_input_is_noticed(ball, camera):
    """Backward after an in-place change must not compute with the wrong numbers."""
    surface = ball()
    vertices = surface.vertices.clone().requires_grad_()
    image = DibrRenderer().render(Surface(vertices, surface.faces), camera())
    with torch.no_grad():
        vertices += 0.1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        image.rgba.sum().backward()


def test_backward_twice(ball, camera):
    surface = ball()
    vertices = surface.vertices.clone().requires_grad_()
    image = DibrRenderer(sigmainv=100.0).render(Surface(vertices, surface.faces), camera())
    one = torch.autograd.grad(image.rgba.sum(), vertices, retain_graph=True)[0]
    two = torch.autograd.grad(image.rgba.sum(), vertices)[0]
    assert torch.equal(one, two)
    with pytest.raises(RuntimeError):
        torch.autograd.grad(image.rgba.sum(), vertices)
