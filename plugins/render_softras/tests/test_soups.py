"""Random heaps of triangles: slivers, points, giants, before and behind the camera. Nothing may become NaN."""

import pytest
import torch
from hypothesis import HealthCheck, given, settings, strategies as st

from diffloom.interfaces import Camera, Material, Surface
from diffloom_render_softras.renderer import SoftRasRenderer

KINDS = ("plain", "sliver", "point", "giant", "near", "tiny")


@st.composite
def soups(draw):
    """(vertices, faces, renderer): one frame, up to eight triangles, some sharing vertices."""
    seed = draw(st.integers(0, 2**31 - 1))
    kind = draw(st.sampled_from(KINDS))
    count = draw(st.integers(1, 8))
    generator = torch.Generator().manual_seed(seed)
    dtype = draw(st.sampled_from([torch.float32, torch.float64]))
    v = torch.randn((count + 2, 3), generator=generator, dtype=dtype)
    if kind == "sliver":
        v = v[:1] + torch.linspace(-1, 1, len(v), dtype=dtype)[:, None] * v[1:2] + 1e-5 * v
    elif kind == "point":
        v = v[:1].expand(len(v), 3) + 0.0 * v
    elif kind == "giant":
        v = 1e4 * v
    elif kind == "near":
        v = v + torch.tensor([0.0, 0.0, 2.5], dtype=dtype)
    elif kind == "tiny":
        v = 1e-6 * v
    faces = torch.randint(0, len(v), (count, 3), generator=generator)
    renderer = SoftRasRenderer(
        sigma=draw(st.sampled_from([1e-2, 1e-4, 1e-6])), gamma=draw(st.sampled_from([1.0, 1e-2, 1e-4])),
        faces_per_pixel=draw(st.sampled_from([None, 1, 3])), cull_backfaces=draw(st.booleans()),
        perspective_correct=draw(st.booleans()), target="serial",
    )  # fmt: skip
    return v[None].contiguous(), faces, renderer


def check(soup):
    vertices, faces, renderer = soup
    dtype = vertices.dtype
    camera = Camera.look_at((0.1, 0.2, 3.0), size=(10, 12), near=0.3, dtype=dtype)
    vertices = vertices.clone().requires_grad_()
    colours = torch.full((vertices.shape[1], 3), 0.5, dtype=dtype, requires_grad=True)
    surface = Surface(vertices, faces, colours, material=Material("phong"))
    image = renderer.render(surface, camera, outputs=("rgba", "depth", "silhouette", "face_index"))
    assert torch.isfinite(image.rgba).all()
    assert torch.isfinite(image.depth).all()
    assert image.silhouette.min() >= 0
    assert image.silhouette.max() <= 1
    assert image.face_index.min() >= -1
    assert image.face_index.max() < len(faces)
    (image.rgba.square().sum() + image.depth.sum()).backward()
    assert torch.isfinite(vertices.grad).all()
    assert torch.isfinite(colours.grad).all()


@settings(max_examples=300, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(soups())
def test_no_soup_makes_nan(soup):
    check(soup)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@settings(max_examples=10_000, deadline=None, suppress_health_check=list(HealthCheck))
@given(soups())
def test_no_soup_of_ten_thousand_makes_nan(soup):
    check(soup)
