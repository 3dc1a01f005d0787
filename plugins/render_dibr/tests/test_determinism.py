"""Results have the same bits on any target, for any number of threads, one frame or many."""

from __future__ import annotations

import dataclasses

import pytest
import torch

from diffloom.interfaces import AmbientLight, HarmonicLight, Material, PointLight, Surface, Texture
from diffloom_kernels.backends.threads import num_threads, set_num_threads
from diffloom_render_dibr.renderer import DibrRenderer

OUTPUTS = ("rgba", "depth", "face_index")


def scene(ball, camera, frames=3):
    surface = ball(level=2, frames=frames, dtype=torch.float32)
    random = torch.Generator().manual_seed(0)
    texture = Texture(
        torch.rand((16, 16, 3), generator=random).requires_grad_(),
        torch.rand((surface.vertices.shape[1], 2), generator=random),
    )
    vertices = surface.vertices.clone().requires_grad_()
    lights = (
        AmbientLight(torch.tensor(0.3, requires_grad=True)),
        PointLight(torch.tensor([1.0, 2.0, 3.0], requires_grad=True)),
        HarmonicLight((0.1 * torch.randn((9, 3), generator=random)).requires_grad_()),
    )
    view = camera((48, 48), dtype=torch.float32)
    view = dataclasses.replace(view, eye=view.eye.requires_grad_(), rotation=view.rotation.requires_grad_())
    return Surface(vertices, surface.faces, texture=texture, material=Material("phong")), view, lights


def everything(renderer, surface, view, lights):
    """Images and all gradients."""
    image = renderer.render(surface, view, lights, outputs=OUTPUTS)
    loss = image.rgba.square().sum() + (image.depth * (image.depth < 50.0)).square().sum()
    leaves = [
        surface.vertices, surface.texture.image, view.eye, view.rotation, lights[0].colour, lights[1].position,
        lights[2].coefficients,
    ]  # fmt: skip
    return [image.rgba.detach(), image.depth.detach(), image.face_index, *torch.autograd.grad(loss, leaves)]


@pytest.mark.parametrize("compat", [None, "kaolin"])
def test_threads_and_repetition(ball, camera, compat):
    given = scene(ball, camera)
    parallel = DibrRenderer(compat=compat, sigmainv=500.0, target="parallel")
    before = num_threads()
    found = []
    try:
        for count in (1, 2, 2, 1):
            set_num_threads(min(count, before))
            found.append(everything(parallel, *given))
    finally:
        set_num_threads(before)
    for other in found[1:]:
        assert all(torch.equal(a, b) for a, b in zip(found[0], other, strict=True))
    assert all(float(x.abs().max()) > 0.0 for x in found[0])


def test_serial_and_parallel_agree(ball, camera):
    given = scene(ball, camera)
    one, two = (everything(DibrRenderer(sigmainv=500.0, target=t), *given) for t in ("serial", "parallel"))
    assert torch.equal(one[2], two[2])
    for a, b in zip(one, two, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("compat", [None, "kaolin"])
def test_batch_is_one_by_one(ball, camera, compat):
    surface, view, lights = scene(ball, camera, frames=3)
    renderer = DibrRenderer(compat=compat, sigmainv=500.0, target="serial")
    together = renderer.render(surface, view, lights, outputs=OUTPUTS)
    (grad,) = torch.autograd.grad(together.rgba.square().sum() + together.depth.sum(), surface.vertices)
    for t in range(3):
        alone = renderer.render(surface.frames([t]), view, lights, outputs=OUTPUTS)
        for name in OUTPUTS:
            assert torch.equal(getattr(alone, name)[0], getattr(together, name)[t])
        (part,) = torch.autograd.grad(alone.rgba.square().sum() + alone.depth.sum(), surface.vertices)
        torch.testing.assert_close(part[t], grad[t], rtol=1e-4, atol=1e-5)


def test_a_camera_for_each_frame(ball, camera):
    """One surface under three cameras is three surfaces under theirs."""
    surface, view = ball(dtype=torch.float32), camera((32, 32), dtype=torch.float32)
    eyes = torch.stack([view.eye, view.eye + 0.1, view.eye + torch.tensor([0.2, 0.0, 0.3])])
    moving = dataclasses.replace(view, eye=eyes)
    phong = dataclasses.replace(surface, material=Material("phong"))
    renderer = DibrRenderer(target="serial")
    together = renderer.render(phong, moving, outputs=OUTPUTS)
    assert together.rgba.shape[0] == 3
    for t in range(3):
        alone = renderer.render(phong, dataclasses.replace(view, eye=eyes[t]), outputs=OUTPUTS)
        for name in OUTPUTS:
            assert torch.equal(getattr(alone, name)[0], getattr(together, name)[t])
