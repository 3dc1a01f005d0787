"""Images do not depend on the order of faces or vertices."""

from __future__ import annotations

import torch

from diffloom.interfaces import Surface
from diffloom.testing.checks import check, require
from diffloom.testing.renderers.images import draw, offered, precision
from diffloom.testing.scenes import camera, gem
from diffloom.testing.subjects import RendererSubject


def tolerance(dtype: torch.dtype) -> float:
    """Sums in another order round otherwise."""
    return 1e-9 if dtype == torch.float64 else 1e-4


@check("face_order", offered)
def faces(subject: RendererSubject, output: str) -> str:
    """Faces in another order make the same image; their numbers follow them."""
    dtype = precision(subject)
    base = gem(2, dtype)
    order = torch.tensor([5, 2, 7, 0, 3, 6, 1, 4])
    shuffled = Surface(base.vertices, base.faces[order], colours=base.colours)
    a, b = draw(subject, base, camera(dtype), output), draw(subject, shuffled, camera(dtype), output)
    if output == "face_index":
        b = torch.where(b >= 0, order[b.clamp_min(0)], b)
    off = float((a.double() - b.double()).abs().max())
    require(off <= tolerance(dtype), f"{output} changes by {off:.3g} when faces come in another order")
    return f"{off:.1e}"


@check("face_order", offered)
def vertices(subject: RendererSubject, output: str) -> str:
    """Vertices in another order, and faces that start at another corner, make the same image."""
    dtype = precision(subject)
    base = gem(2, dtype)
    order = torch.tensor([3, 0, 5, 1, 4, 2])
    back = torch.argsort(order)
    assert base.colours is not None
    shuffled = Surface(base.vertices[:, order], back[base.faces].roll(1, dims=1), colours=base.colours[order])
    a, b = draw(subject, base, camera(dtype), output), draw(subject, shuffled, camera(dtype), output)
    off = float((a.double() - b.double()).abs().max())
    require(off <= tolerance(dtype), f"{output} changes by {off:.3g} when vertices come in another order")
    return f"{off:.1e}"


CHECKS = (faces, vertices)
