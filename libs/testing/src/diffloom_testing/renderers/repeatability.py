"""Checks that images repeat bit for bit, and that precisions agree."""

from __future__ import annotations

import torch

from diffloom.interfaces import Surface
from diffloom_testing.comparisons import require_finite, require_refusal, require_same_bits
from diffloom_testing.renderers.images import claimed_outputs, differentiable_outputs, draw, precision
from diffloom_testing.results import Skip, check, require
from diffloom_testing.scenes import FAR, camera, gem
from diffloom_testing.subjects import RendererSubject


def image_and_gradient(subject: RendererSubject, base: Surface, output: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Return an image and the gradient of its weighted sum by the vertices."""
    vertices = base.vertices.detach().clone().requires_grad_()
    found = draw(subject, Surface(vertices, base.faces, colours=base.colours), camera(base.vertices.dtype), output)
    if not found.requires_grad:
        return found, torch.zeros(1)
    weights = torch.linspace(-1.0, 1.0, found.numel(), dtype=found.dtype).reshape(found.shape)
    return found.detach(), torch.autograd.grad((found * weights).sum(), vertices)[0]


@check("determinism", differentiable_outputs)
def repeats(subject: RendererSubject, output: str) -> None:
    """A scene drawn before and after another scene gives the same image and gradient, bit for bit."""
    base = gem(2, precision(subject))
    first = image_and_gradient(subject, base, output)
    image_and_gradient(subject, Surface(1.2 * base.vertices, base.faces), output)
    again = image_and_gradient(subject, base, output)
    require_same_bits(f"two images of one scene ({output})", first[0], again[0])
    require_same_bits(f"gradients of two images of one scene ({output})", first[1], again[1])


@check("determinism", differentiable_outputs)
def leaves_inputs_alone(subject: RendererSubject, output: str) -> None:
    """Surface and camera do not change."""
    dtype = precision(subject)
    base, view = gem(1, dtype), camera(dtype)
    draw(subject, base, view, output)
    require_same_bits("vertices before and after", gem(1, dtype).vertices, base.vertices)
    require_same_bits("the camera before and after", camera(dtype).eye, view.eye)


BOTH = (torch.float32, torch.float64)


def kinds(subject: RendererSubject) -> tuple[str, ...]:
    """Return both precisions by name."""
    return tuple(str(kind).removeprefix("torch.") for kind in BOTH)


@check("dtypes", kinds)
def as_claimed(subject: RendererSubject, kind: str) -> None:
    """A claimed precision draws, with a finite gradient; an unclaimed one raises InputError."""
    dtype: torch.dtype = getattr(torch, kind)
    output = differentiable_outputs(subject)[0]
    surface = gem(1, dtype)
    if dtype in subject.renderer.capabilities.dtypes:
        vertices = surface.vertices.clone().requires_grad_()
        found = draw(subject, type(surface)(vertices, surface.faces, colours=surface.colours), camera(dtype), output)
        require(found.dtype == dtype, f"{kind} in, {found.dtype} out")
        if "vertices" in subject.renderer.capabilities.gradients:
            (grad,) = torch.autograd.grad(found.sum(), vertices)
            require(grad.dtype == dtype, f"the gradient of an image in {kind} is {grad.dtype}")
            require_finite(f"the gradient in {kind}", grad)
        return
    require_refusal(f"{kind}, which is not claimed,", lambda: draw(subject, surface, camera(dtype), output))


@check("dtypes", claimed_outputs)
def single_and_double(subject: RendererSubject, output: str) -> str:
    """Images in float32 agree with float64, except for a pixel at an edge."""
    if set(BOTH) - subject.renderer.capabilities.dtypes:
        raise Skip("the renderer claims one precision only")
    double, single = (draw(subject, gem(2, k), camera(k), output).double() for k in (torch.float64, torch.float32))
    scale = FAR if output == "depth" else 1.0
    share = float(((double - single).abs() > 1e-3 * scale).double().mean())
    require(share <= 0.01, f"{100 * share:.1f} % of {output} differ between float32 and float64; allowed 1 %")
    return f"{100 * share:.2f} % differ"


CHECKS = (repeats, leaves_inputs_alone, as_claimed, single_and_double)
