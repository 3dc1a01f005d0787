"""Images have the shapes and types that Image promises."""

from __future__ import annotations

import torch

from diffloom.testing.checks import check, require
from diffloom.testing.renderers.images import OUTPUTS, draw, offered, precision
from diffloom.testing.scenes import SIZE, camera, gem
from diffloom.testing.subjects import RendererSubject


@check("shapes", offered)
def shape(subject: RendererSubject, output: str) -> None:
    """(frames, height, width), and four channels for rgba, for one frame and for three."""
    dtype = precision(subject)
    for frames in (1, 3):
        found = draw(subject, gem(frames, dtype), camera(dtype), output)
        wanted = (frames, *SIZE, 4) if output == "rgba" else (frames, *SIZE)
        require(tuple(found.shape) == wanted, f"{output} has the shape {tuple(found.shape)}; expected {wanted}")
        kind = torch.int64 if output == "face_index" else dtype
        require(found.dtype == kind, f"{output} is {found.dtype}; expected {kind}")


@check("shapes")
def only_what_was_asked(subject: RendererSubject) -> None:
    """What was asked for is there, alone and together; what was not is None."""
    dtype, names = precision(subject), offered(subject)
    for asked in [(name,) for name in names] + [names]:
        image = subject.renderer.render(gem(1, dtype), camera(dtype), outputs=asked)
        got = [name for name in OUTPUTS if getattr(image, name) is not None]
        require(got == list(asked), f"asked for {', '.join(asked)}; got {', '.join(got) or 'nothing'}")


CHECKS = (shape, only_what_was_asked)
