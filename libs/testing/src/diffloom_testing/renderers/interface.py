"""Checks of a renderer's declarations, of output shapes, of copies, and of refusals of bad input."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch

from diffloom.interfaces import Capabilities, Material, Renderer
from diffloom_testing.comparisons import require_equal_copies, require_frozen, require_refusal
from diffloom_testing.renderers.images import OUTPUTS, claimed_outputs, draw, precision
from diffloom_testing.results import Skip, check, require
from diffloom_testing.scenes import SIZE, camera, gem
from diffloom_testing.subjects import RendererSubject

GRADIENTS = ("vertices", "colours", "texture", "light", "eye", "rotation", "focal")
PER_FRAME = ("colours", "image")
SHADINGS = ("unlit", "lambert", "phong")


@check("capabilities")
def settings(subject: RendererSubject) -> None:
    """The renderer is a frozen dataclass that derives from Renderer and needs no arguments."""
    require_frozen(subject.renderer, Renderer)


@check("capabilities")
def claims(subject: RendererSubject) -> str:
    """Claimed outputs, gradients, precisions and shadings exist, and an image is among the outputs."""
    found = subject.renderer.capabilities
    require(isinstance(found, Capabilities), f"capabilities is {found!r}; expected Capabilities")
    known = {
        "outputs": (found.outputs, OUTPUTS),
        "gradients": (found.gradients, GRADIENTS),
        "shadings": (found.shadings, SHADINGS),
        "per_frame": (found.per_frame, PER_FRAME),
        "dtypes": (found.dtypes, (torch.float32, torch.float64)),
    }
    for what, (claimed, there_are) in known.items():
        strange = [str(each) for each in claimed if each not in there_are]
        require(not strange, f"{what} claims {strange}; there are {', '.join(map(str, there_are))}")
    require(bool(found.outputs & {"rgba", "silhouette"}), "it draws neither 'rgba' nor 'silhouette'")
    require(bool(found.dtypes), "it claims no precision")
    require("unlit" in found.shadings, "it does not claim the shading 'unlit', which every surface starts with")
    return f"{len(found.outputs)} outputs, {len(found.gradients)} gradients"


@check("shapes", claimed_outputs)
def shape(subject: RendererSubject, output: str) -> None:
    """Outputs have the shape (frames, height, width), rgba with four channels, for one frame and for three."""
    dtype = precision(subject)
    for frames in (1, 3):
        found = draw(subject, gem(frames, dtype), camera(dtype), output)
        wanted = (frames, *SIZE, 4) if output == "rgba" else (frames, *SIZE)
        require(tuple(found.shape) == wanted, f"{output} has the shape {tuple(found.shape)}; expected {wanted}")
        kind = torch.int64 if output == "face_index" else dtype
        require(found.dtype == kind, f"{output} is {found.dtype}; expected {kind}")


@check("shapes")
def only_what_was_asked(subject: RendererSubject) -> None:
    """Requested outputs are present, alone and together; other outputs are None."""
    dtype, names = precision(subject), claimed_outputs(subject)
    for asked in [(name,) for name in names] + [names]:
        image = subject.renderer.render(gem(1, dtype), camera(dtype), outputs=asked)
        got = [name for name in OUTPUTS if getattr(image, name) is not None]
        require(got == list(asked), f"asked for {', '.join(asked)}; got {', '.join(got) or 'nothing'}")


@check("bad_input")
def unknown_output(subject: RendererSubject) -> None:
    """An output that is not claimed is refused by its name."""
    dtype = precision(subject)
    require_refusal(
        "the output 'heat'", lambda: subject.renderer.render(gem(1, dtype), camera(dtype), outputs=("heat",)), "heat"
    )


@check("bad_input")
def not_finite(subject: RendererSubject) -> None:
    """A vertex that is NaN is refused."""
    dtype = precision(subject)
    surface = gem(1, dtype)
    vertices = surface.vertices.clone()
    vertices[0, 2, 1] = torch.nan
    broken = replace(surface, vertices=vertices)
    require_refusal(
        "a vertex that is NaN",
        lambda: subject.renderer.render(broken, camera(dtype), outputs=claimed_outputs(subject)[:1]),
    )


@check("bad_input")
def mixed_precision(subject: RendererSubject) -> None:
    """A camera of another precision than the surface is refused, not converted silently."""
    dtype = precision(subject)
    other = torch.float32 if dtype == torch.float64 else torch.float64
    require_refusal(
        f"a camera of {other} with a surface of {dtype}",
        lambda: subject.renderer.render(gem(1, dtype), camera(other), outputs=claimed_outputs(subject)[:1]),
    )


@check("bad_input")
def frames_that_do_not_fit(subject: RendererSubject) -> None:
    """Two camera positions for three frames are refused."""
    dtype = precision(subject)
    view = camera(dtype)
    two = replace(view, eye=torch.stack([view.eye, view.eye]))
    outputs = claimed_outputs(subject)[:1]
    require_refusal("2 cameras for 3 frames", lambda: subject.renderer.render(gem(3, dtype), two, outputs=outputs))


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
        require_refusal(f"the shading {shading!r}", attempt, shading)


@check("copying")
def pickles_and_copies(subject: RendererSubject) -> None:
    """A pickled and a copied renderer equal the original."""
    require_equal_copies(subject.renderer)


CHECKS = (
    settings,
    claims,
    shape,
    only_what_was_asked,
    unknown_output,
    not_finite,
    mixed_precision,
    frames_that_do_not_fit,
    unclaimed_shading,
    pickles_and_copies,
)
