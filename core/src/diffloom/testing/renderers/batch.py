"""All frames at once are the frames one by one."""

from __future__ import annotations

from dataclasses import replace

import torch

from diffloom.testing.checks import check, require
from diffloom.testing.renderers.face_order import tolerance
from diffloom.testing.renderers.images import draw, offered, precision
from diffloom.testing.scenes import camera, gem
from diffloom.testing.subjects import RendererSubject


@check("batch", offered)
def one_by_one(subject: RendererSubject, output: str) -> str:
    """Three frames drawn together are the same images as each drawn alone."""
    dtype = precision(subject)
    surface = gem(3, dtype)
    together = draw(subject, surface, camera(dtype), output)
    alone = torch.cat([draw(subject, surface.frames([k]), camera(dtype), output) for k in range(3)])
    off = float((together.double() - alone.double()).abs().max())
    require(off <= tolerance(dtype), f"{output} of three frames and of each alone differ by {off:.3g}")
    return f"{off:.1e}"


@check("batch", offered)
def a_camera_per_frame(subject: RendererSubject, output: str) -> str:
    """A camera with a place for each frame draws each frame from its place."""
    dtype = precision(subject)
    surface, view = gem(2, dtype), camera(dtype)
    eyes = torch.stack([view.eye, view.eye + 0.2])
    together = draw(subject, surface, replace(view, eye=eyes), output)
    each = [draw(subject, surface.frames([k]), replace(view, eye=eyes[k]), output) for k in range(2)]
    off = float((together.double() - torch.cat(each).double()).abs().max())
    require(off <= tolerance(dtype), f"{output} by a moving camera and by each of its places differ by {off:.3g}")
    return f"{off:.1e}"


CHECKS = (one_by_one, a_camera_per_frame)
