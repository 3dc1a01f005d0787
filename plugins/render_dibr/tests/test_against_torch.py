"""Our own rules, written once more in plain torch: every pixel against every face."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from diffloom.interfaces import Surface
from diffloom_raster import project
from diffloom_render_dibr.renderer import DibrRenderer


def cross(a: Tensor, b: Tensor) -> Tensor:
    return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]


def side_distance(p: Tensor, a: Tensor, b: Tensor) -> Tensor:
    along = b - a
    t = (((p - a) * along).sum(-1) / (along * along).sum(-1)).clamp(0.0, 1.0)
    return ((a + t[..., None] * along - p) ** 2).sum(-1)


def reference(renderer: DibrRenderer, surface: Surface, camera, features: Tensor):
    """Features (vertices, n), depth, mask and face index, by brute force and autograd."""
    height, width = camera.height, camera.width
    i, j = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
    middle = torch.tensor([0.5 * width, 0.5 * height], dtype=torch.float64)
    p = torch.stack([j + 0.5, i + 0.5], dim=-1).double() - middle
    p = p.reshape(-1, 1, 2)
    outputs = []
    for screen in project(surface.vertices, camera):
        v = screen[surface.faces]
        a, b, c = (v[:, k, :2] for k in range(3))
        area = cross(b - a, c - a)
        e = torch.stack([cross(b - p, c - p), cross(c - p, a - p), cross(a - p, b - p)], dim=-1) * area.sign()[:, None]
        drawn = area < 0.0 if renderer.culls else area != 0.0
        inside = (e >= 0.0).all(-1) & drawn
        t = e / v[..., 2]
        q = t / t.sum(-1, keepdim=True)
        z = (q * v[..., 2]).sum(-1)
        nearest, index = torch.where(inside, z, torch.inf).min(-1)
        covered = torch.isfinite(nearest)
        rows = torch.arange(len(index))
        chosen = q[rows, index]
        value = (chosen[..., None] * features[surface.faces][index]).sum(-2)
        depth = torch.where(covered, z[rows, index], camera.far)
        unit = 0.5 * min(height, width)
        d2 = torch.stack([side_distance(p, x, y) for x, y in ((a, b), (b, c), (c, a))]).min(0).values / unit**2
        counts = (d2 <= renderer.reach**2) & (drawn if renderer.culls else torch.ones_like(drawn))
        if renderer.knum is not None:
            ranked = torch.where(counts, d2.detach(), torch.inf).sort(-1).values
            last = ranked[:, min(renderer.knum, ranked.shape[1]) - 1]
            counts = counts & (d2 <= last[:, None] * (1.0 + 1e-12))
        miss = torch.where(counts, 1.0 - torch.exp(-renderer.sigmainv * d2), 1.0).prod(-1)
        mask = torch.where(covered, 1.0, 1.0 - miss)
        outputs.append((value * covered[:, None], depth, mask, torch.where(covered, index, -1)))
    shapes = ((height, width, -1), (height, width), (height, width), (height, width))
    return tuple(torch.stack([frame[k].reshape(shapes[k]) for frame in outputs]) for k in range(4))


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"sigmainv": 150.0, "knum": None},
        {"sigmainv": 150.0, "boxlen": 0.3, "knum": 6},
        {"sigmainv": 500.0, "cull_backfaces": True, "knum": 4},
    ],
    ids=str,
)
def test_values_and_gradients(ball, camera, settings):
    surface, view = ball(level=2, frames=2), camera((27, 38))
    torch.manual_seed(0)
    colours = torch.rand((surface.vertices.shape[1], 3), dtype=torch.float64)
    renderer = DibrRenderer(**settings)
    weights = torch.randn((2, 27, 38, 5), dtype=torch.float64)
    grads, images = [], []
    for ours in (True, False):
        vertices = surface.vertices.clone().requires_grad_()
        paint = colours.clone().requires_grad_()
        scene = Surface(vertices, surface.faces, colours=paint)
        if ours:
            image = renderer.render(scene, view, outputs=("rgba", "silhouette", "depth", "face_index"))
            found = image.rgba[..., :3], image.depth, image.silhouette, image.face_index
            assert torch.equal(image.rgba[..., 3], image.silhouette)
        else:
            found = reference(renderer, scene, view, paint)
        everything = torch.cat([found[0], found[1][..., None], found[2][..., None]], dim=-1)
        (everything * weights).sum().backward()
        images.append((everything.detach(), found[3]))
        grads.append((vertices.grad, paint.grad))
    assert torch.equal(images[0][1], images[1][1])
    assert 100 < int((images[0][1] >= 0).sum()) < images[0][1].numel() - 100
    soft = images[1][0][..., 4]
    assert int(((soft > 1e-3) & (soft < 0.999)).sum()) > 50
    torch.testing.assert_close(images[0][0], images[1][0], rtol=0.0, atol=2e-5 if renderer.knum else 1e-10)
    for mine, wanted in zip(*grads, strict=True):
        assert float((mine - wanted).norm() / wanted.norm()) < 1e-6


def test_float32_close_to_float64(ball, camera):
    renderer = DibrRenderer(sigmainv=500.0)
    found = {}
    for dtype in (torch.float32, torch.float64):
        surface, view = ball(level=2, dtype=dtype), camera((40, 40), dtype=dtype)
        vertices = surface.vertices.clone().requires_grad_()
        scene = Surface(vertices, surface.faces)
        image = renderer.render(scene, view, outputs=("silhouette", "depth"))
        (image.silhouette.square().mean() + 0.1 * (image.depth * (image.depth < 50.0)).mean()).backward()
        found[dtype] = image.silhouette.detach().double(), vertices.grad.double()
    single, double = found[torch.float32], found[torch.float64]
    assert float((single[0] - double[0]).abs().max()) < 1e-4
    assert float((single[1] - double[1]).norm() / double[1].norm()) < 1e-4
