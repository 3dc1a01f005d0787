"""What cannot be drawn is refused with InputError."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch

from diffloom.interfaces import Material
from diffloom.testing.checks import Skip, check
from diffloom.testing.refusals import refused
from diffloom.testing.renderers.images import offered, precision
from diffloom.testing.scenes import camera, gem
from diffloom.testing.subjects import RendererSubject


@check("bad_input")
def unknown_output(subject: RendererSubject) -> None:
    """An output that is not claimed is refused by its name."""
    dtype = precision(subject)
    refused(
        "the output 'heat'",
        lambda: subject.renderer.render(gem(1, dtype), camera(dtype), outputs=("heat",)),
        "heat",
    )


@check("bad_input")
def not_finite(subject: RendererSubject) -> None:
    """A vertex that is NaN is refused."""
    dtype = precision(subject)
    surface = gem(1, dtype)
    vertices = surface.vertices.clone()
    vertices[0, 2, 1] = torch.nan
    broken = replace(surface, vertices=vertices)
    refused(
        "a vertex that is NaN", lambda: subject.renderer.render(broken, camera(dtype), outputs=offered(subject)[:1])
    )


@check("bad_input")
def mixed_precision(subject: RendererSubject) -> None:
    """A camera of another precision than the surface is refused, not converted silently."""
    dtype = precision(subject)
    other = torch.float32 if dtype == torch.float64 else torch.float64
    refused(
        f"a camera of {other} with a surface of {dtype}",
        lambda: subject.renderer.render(gem(1, dtype), camera(other), outputs=offered(subject)[:1]),
    )


@check("bad_input")
def frames_that_do_not_fit(subject: RendererSubject) -> None:
    """Two camera places for three frames are refused."""
    dtype = precision(subject)
    view = camera(dtype)
    two = replace(view, eye=torch.stack([view.eye, view.eye]))
    refused("2 cameras for 3 frames", lambda: subject.renderer.render(gem(3, dtype), two, outputs=offered(subject)[:1]))


@check("bad_input")
def unclaimed_shading(subject: RendererSubject) -> None:
    """A shading that is not claimed is refused by its name."""
    dtype, claimed = precision(subject), subject.renderer.capabilities.shadings
    unclaimed = sorted({"lambert", "phong"} - claimed)
    if not unclaimed:
        raise Skip("the renderer claims every shading there is")
    for shading in unclaimed:
        surface = replace(gem(1, dtype), material=Material(shading))  # type: ignore[arg-type]
        attempt: Callable[[], object] = lambda s=surface: subject.renderer.render(s, camera(dtype))  # type: ignore[misc]  # noqa: E731
        refused(f"the shading {shading!r}", attempt, shading)


CHECKS = (unknown_output, not_finite, mixed_precision, frames_that_do_not_fit, unclaimed_shading)
