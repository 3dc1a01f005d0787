"""Results have the same bits for any number of threads, and float32 agrees with float64."""

import pytest
import torch
from coverage_scenes import LIGHTS, VIEW

from diffloom.interfaces import Camera, Material, Surface
from diffloom_kernels import num_threads, set_num_threads, threads
from diffloom_render_coverage.renderer import CoverageRenderer
from diffloom_testing.scenes import make_occluded


def drawn(dtype, target="auto"):
    scene = make_occluded(3)
    vertices = torch.cat([scene.vertices, scene.vertices + 0.1]).to(dtype).requires_grad_()
    surface = Surface(vertices, scene.faces, colours=scene.colours.to(dtype), material=Material("phong"))
    view = Camera(**{k: v.to(dtype) if isinstance(v, torch.Tensor) else v for k, v in vars(VIEW).items()})
    lights = tuple(
        type(light)(**{k: v.to(dtype) if isinstance(v, torch.Tensor) else v for k, v in vars(light).items()})
        for light in LIGHTS
    )
    image = CoverageRenderer(target=target).render(surface, view, lights, outputs=("rgba", "depth", "face_index"))
    (image.rgba.square().sum() + image.depth.sum()).backward()
    return image, vertices.grad


@pytest.mark.skipif(threads().available < 2, reason="one processor")
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_bits_do_not_depend_on_threads(dtype):
    before = num_threads()
    try:
        set_num_threads(1)
        alone, slope = drawn(dtype)
        set_num_threads(2)
        together, other = drawn(dtype, "parallel")
    finally:
        set_num_threads(before)
    for name in ("rgba", "depth", "face_index"):
        assert torch.equal(getattr(alone, name), getattr(together, name))
    assert torch.equal(slope, other)


def test_single_precision_agrees_with_double():
    (single, slope), (double, exact) = drawn(torch.float32), drawn(torch.float64)
    assert float((single.rgba - double.rgba).detach().abs().max()) < 2e-5
    assert float((slope - exact).norm() / exact.norm()) < 1e-4
