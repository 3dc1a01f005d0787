"""Both precisions, as claimed."""

from __future__ import annotations

import torch

from diffloom.testing.checks import Skip, check, require
from diffloom.testing.comparing import finite
from diffloom.testing.refusals import refused
from diffloom.testing.renderers.images import draw, offered, smooth
from diffloom.testing.scenes import FAR, camera, gem
from diffloom.testing.subjects import RendererSubject

BOTH = (torch.float32, torch.float64)


def kinds(subject: RendererSubject) -> tuple[str, ...]:
    """Both precisions by name."""
    return tuple(str(kind).removeprefix("torch.") for kind in BOTH)


@check("dtypes", kinds)
def as_claimed(subject: RendererSubject, kind: str) -> None:
    """A claimed precision draws, with a finite gradient; one that is not claimed raises InputError."""
    dtype: torch.dtype = getattr(torch, kind)
    output = smooth(subject)[0]
    surface = gem(1, dtype)
    if dtype in subject.renderer.capabilities.dtypes:
        vertices = surface.vertices.clone().requires_grad_()
        found = draw(subject, type(surface)(vertices, surface.faces, colours=surface.colours), camera(dtype), output)
        require(found.dtype == dtype, f"{kind} in, {found.dtype} out")
        if "vertices" in subject.renderer.capabilities.gradients:
            (grad,) = torch.autograd.grad(found.sum(), vertices)
            require(grad.dtype == dtype, f"the gradient of an image in {kind} is {grad.dtype}")
            finite(f"the gradient in {kind}", grad)
        return
    refused(f"{kind}, which is not claimed,", lambda: draw(subject, surface, camera(dtype), output))


@check("dtypes", offered)
def single_and_double(subject: RendererSubject, output: str) -> str:
    """float32 shows what float64 shows, but for a pixel that an edge just touches."""
    if set(BOTH) - subject.renderer.capabilities.dtypes:
        raise Skip("the renderer claims one precision only")
    double, single = (draw(subject, gem(2, k), camera(k), output).double() for k in (torch.float64, torch.float32))
    scale = FAR if output == "depth" else 1.0
    share = float(((double - single).abs() > 1e-3 * scale).double().mean())
    require(share <= 0.01, f"{100 * share:.1f} % of {output} differ between float32 and float64; allowed 1 %")
    return f"{100 * share:.2f} % differ"


CHECKS = (as_claimed, single_and_double)
