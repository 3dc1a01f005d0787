"""The same scene gives the same bits, and inputs are left alone."""

from __future__ import annotations

import torch

from diffloom.interfaces import Surface
from diffloom.testing.checks import check
from diffloom.testing.comparing import same_bits
from diffloom.testing.renderers.images import draw, precision, smooth
from diffloom.testing.scenes import camera, gem
from diffloom.testing.subjects import RendererSubject


def image_and_gradient(subject: RendererSubject, base: Surface, output: str) -> tuple[torch.Tensor, torch.Tensor]:
    """An image, and the gradient of its weighted sum by the vertices."""
    vertices = base.vertices.detach().clone().requires_grad_()
    found = draw(subject, Surface(vertices, base.faces, colours=base.colours), camera(base.vertices.dtype), output)
    if not found.requires_grad:
        return found, torch.zeros(1)
    weights = torch.linspace(-1.0, 1.0, found.numel(), dtype=found.dtype).reshape(found.shape)
    return found.detach(), torch.autograd.grad((found * weights).sum(), vertices)[0]


@check("determinism", smooth)
def repeats(subject: RendererSubject, output: str) -> None:
    """A scene drawn before and after another one gives the same image and gradient, bit for bit."""
    base = gem(2, precision(subject))
    first = image_and_gradient(subject, base, output)
    image_and_gradient(subject, Surface(1.2 * base.vertices, base.faces), output)
    again = image_and_gradient(subject, base, output)
    same_bits(f"two images of one scene ({output})", first[0], again[0])
    same_bits(f"gradients of two images of one scene ({output})", first[1], again[1])


@check("determinism", smooth)
def leaves_inputs_alone(subject: RendererSubject, output: str) -> None:
    """Surface and camera come out as they went in."""
    dtype = precision(subject)
    base, view = gem(1, dtype), camera(dtype)
    draw(subject, base, view, output)
    same_bits("vertices before and after", gem(1, dtype).vertices, base.vertices)
    same_bits("the camera before and after", camera(dtype).eye, view.eye)


CHECKS = (repeats, leaves_inputs_alone)
