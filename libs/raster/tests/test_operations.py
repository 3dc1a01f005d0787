"""The four operations alone, composed, and against central differences and plain torch."""

import re
from pathlib import Path

import pytest
import torch

import diffloom_raster
from diffloom.interfaces import Camera, InputError, Surface
from diffloom_kernels import num_threads, set_num_threads
from diffloom_raster import draw_soft_mask, interpolate, kernels, project, rasterise, records
from diffloom_raster.layout import find_layout
from diffloom_raster.programs import program

D = torch.float64
SIZE = (21, 18)
CORNERS = [[-0.8, -0.6, 0.1], [0.9, -0.5, 0.0], [0.1, 0.8, -0.2], [0.3, 0.0, 0.7]]
FACES = torch.tensor([[0, 1, 3], [1, 2, 3], [2, 0, 3]])


def screen(dtype=D, frames=2):
    vertices = torch.tensor([CORNERS] * frames, dtype=dtype)
    vertices[-1] *= 0.9
    return project(vertices, Camera.look_at((0.1, 0.2, 3.0), fov=50.0, size=SIZE, dtype=dtype))


def centres():
    i, j = torch.meshgrid(torch.arange(SIZE[0]), torch.arange(SIZE[1]), indexing="ij")
    return torch.stack([j + 0.5 - 0.5 * SIZE[1], i + 0.5 - 0.5 * SIZE[0]], dim=-1).to(D)


def test_weights_find_the_pixel_again():
    points = screen()
    raster = rasterise(points, FACES, SIZE)
    shown = raster.face_index >= 0
    assert 60 < int(shown.sum()) < shown.numel() - 60
    assert torch.allclose(raster.weights.sum(-1), shown.to(D))
    # x / depth and y / depth are linear in space: weighted places over depths lead back to the centres
    rows = torch.cat([points[..., :2] * points[..., 2:], points[..., 2:]], dim=-1)
    found = interpolate(rows, FACES, raster)
    assert torch.allclose(found[..., 2], raster.depth)
    for frame in range(2):
        places = found[frame][shown[frame]]
        assert torch.allclose(places[:, :2] / places[:, 2:], centres()[shown[frame]], atol=1e-10)


def test_backfaces_are_culled():
    away = rasterise(screen(), FACES.flip(1), SIZE, cull_backfaces=True)
    assert int((away.face_index >= 0).sum()) == 0
    assert torch.equal(
        rasterise(screen(), FACES, SIZE, cull_backfaces=True).face_index, rasterise(screen(), FACES, SIZE).face_index
    )


def test_gradients_of_rasterising_and_interpolating():
    points, values = screen().requires_grad_(), torch.rand((1, 4, 3), dtype=D, requires_grad=True)
    raster = rasterise(points, FACES, SIZE)
    assert torch.autograd.gradcheck(lambda p: rasterise(p, FACES, SIZE).weights, (points,), atol=1e-6)
    assert torch.autograd.gradcheck(lambda p: rasterise(p, FACES, SIZE).depth, (points,), atol=1e-6)
    weights = raster.weights.detach().requires_grad_()

    def mixed(weights, values):
        return interpolate(values, FACES, type(raster)(raster.face_index, weights, raster.depth))

    assert torch.autograd.gradcheck(mixed, (weights, values))


@pytest.mark.parametrize("most", [None, 1])
def test_soft_mask_and_its_gradient(most):
    points = screen(frames=1).requires_grad_()
    index = rasterise(points, FACES, SIZE).face_index
    mask = draw_soft_mask(points, FACES, index, sharpness=0.05, reach=9.0, most=most)
    assert bool((mask[index >= 0] == 1.0).all())
    assert int(((mask > 1e-3) & (mask < 0.999)).sum()) > 60
    assert float(mask.detach().min()) >= 0.0
    if most is None:
        v, p = points[0, FACES, :2], centres()[:, :, None]
        sides = [side_distance(p, v[:, a], v[:, b]) for a, b in ((0, 1), (1, 2), (2, 0))]
        d2 = torch.stack(sides).min(0).values
        miss = torch.where(d2 <= 81.0, 1.0 - torch.exp(-0.05 * d2), 1.0).prod(-1)
        assert torch.allclose(mask[0], torch.where(index[0] >= 0, 1.0, 1.0 - miss), atol=1e-6)
    weights = torch.randn(mask.shape, dtype=D, generator=torch.Generator().manual_seed(0))

    def loss(p):
        return (draw_soft_mask(p, FACES, index, sharpness=0.05, reach=9.0, most=most) * weights).sum()

    (grad,) = torch.autograd.grad(loss(points), points)
    step = torch.randn(points.shape, dtype=D, generator=torch.Generator().manual_seed(1)) * 1e-6
    slope = float((loss(points + step) - loss(points - step)).detach()) / 2.0
    assert slope == pytest.approx(float((grad * step).sum()), rel=1e-5)


def side_distance(p, a, b):
    along = b - a
    t = (((p - a) * along).sum(-1) / (along * along).sum(-1)).clamp(0.0, 1.0)
    return ((a + t[..., None] * along - p) ** 2).sum(-1)


def test_the_same_bits_on_any_number_of_threads(monkeypatch):
    monkeypatch.setenv("DIFFLOOM_PARALLEL_FROM", "0")
    before, made = num_threads(), []
    try:
        for threads in (1, 2):
            set_num_threads(threads)
            points, values = screen(torch.float32).requires_grad_(), torch.ones((1, 4, 5), requires_grad=True)
            raster = rasterise(points, FACES, SIZE)
            mask = draw_soft_mask(points, FACES, raster.face_index, sharpness=0.05, reach=9.0)
            mixed = interpolate(values, FACES, raster)
            (mixed.square().sum() + mask.square().sum() + raster.depth.sum()).backward()
            made.append((raster.face_index, mixed.detach(), mask.detach(), points.grad, values.grad))
    finally:
        set_num_threads(before)
    assert all(torch.equal(a, b) for a, b in zip(*made, strict=True))


def test_wrong_input_is_refused():
    points = screen()
    with pytest.raises(InputError, match="size"):
        rasterise(points, FACES, (0, 4))
    with pytest.raises(InputError, match="indices run from 0 to 3; expected 0 to 2"):
        rasterise(points[:, :3], FACES, SIZE)
    raster = rasterise(points, FACES, SIZE)
    with pytest.raises(InputError, match="values: got 3 frames for 2 images"):
        interpolate(torch.zeros((3, 4, 1), dtype=D), FACES, raster)
    with pytest.raises(InputError, match="sharpness"):
        draw_soft_mask(points, FACES, raster.face_index, sharpness=0.0, reach=1.0)


def test_layouts_are_found_again_though_faces_are_made_anew():
    find_layout.cache_clear()
    for _ in range(5):
        rasterise(screen(), FACES.clone(), SIZE)
    assert find_layout.cache_info().hits == 4
    assert find_layout.cache_info().misses == 1


def test_the_example_of_the_readme():
    text = (Path(__file__).parents[1] / "README.md").read_text()
    space: dict[str, object] = {}
    exec(re.search(r"```python\n(.*?)```", text, re.S)[1], space)
    vertices = torch.tensor([CORNERS], dtype=torch.float32, requires_grad=True)
    camera = Camera.look_at((0.1, 0.2, 3.0), size=(32, 32))
    image = space["OutlineRenderer"]().render(Surface(vertices, FACES), camera, outputs=("silhouette",))
    assert image.silhouette.shape == (1, 32, 32)
    image.silhouette.sum().backward()
    assert float(vertices.grad.abs().max()) > 0.0


def test_everything_public_has_a_docstring():
    for module in (diffloom_raster, kernels, records):
        assert len(set(module.__all__)) == len(module.__all__)
        assert all(getattr(module, name).__doc__ for name in module.__all__)


def test_samples_cover_every_pipeline():
    assert set(program.samples("float32")) == set(program.pipelines)
