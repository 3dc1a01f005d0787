"""Checks of the ranges of pixel values and of the background, and images for all checks."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import torch
from torch import Tensor

from diffloom.interfaces import Camera, Light, Surface
from diffloom_testing.comparisons import require_finite
from diffloom_testing.results import Failure, Skip, check, require
from diffloom_testing.scenes import FAR, NEAR, SIZE, camera, front, gem, lamps, square, with_shading
from diffloom_testing.subjects import RendererSubject

OUTPUTS = ("rgba", "silhouette", "depth", "face_index")


def claimed_outputs(subject: RendererSubject) -> tuple[str, ...]:
    """Return the outputs that the renderer claims."""
    return tuple(name for name in OUTPUTS if name in subject.renderer.capabilities.outputs)


def differentiable_outputs(subject: RendererSubject) -> tuple[str, ...]:
    """Return the claimed outputs other than face numbers."""
    return tuple(name for name in claimed_outputs(subject) if name != "face_index")


def precision(subject: RendererSubject) -> torch.dtype:
    """Return the best precision that the renderer claims."""
    claimed = subject.renderer.capabilities.dtypes
    return torch.float64 if torch.float64 in claimed else torch.float32


def draw(
    subject: RendererSubject, surface: Surface, camera: Camera, output: str = "rgba", lights: Sequence[Light] = ()
) -> Tensor:
    """Return one output of an image."""
    image = subject.renderer.render(surface, camera, lights, outputs=(output,))
    found: Tensor | None = getattr(image, output)
    if found is None:
        raise Failure(f"asked for {output!r}, got None")
    return found


def require_output(subject: RendererSubject, output: str) -> None:
    """Raise Skip if an output is not claimed."""
    if output not in subject.renderer.capabilities.outputs:
        raise Skip(f"the renderer does not claim the output {output!r}")


#: Rounding allowed beyond the ends of a range.
SLACK = 1e-6


@check("range", claimed_outputs)
def bounds(subject: RendererSubject, output: str) -> str:
    """Colours and coverage lie in 0..1, depth between near and far, face numbers from -1 to the last face."""
    dtype = precision(subject)
    surface = gem(2, dtype)
    found = require_finite(output, draw(subject, surface, camera(dtype), output).double())
    ends = {"depth": (NEAR, FAR), "face_index": (-1.0, len(surface.faces) - 1.0)}.get(output, (0.0, 1.0))
    low, high = float(found.min()), float(found.max())
    right = ends[0] - SLACK <= low and high <= ends[1] + SLACK * max(1.0, ends[1])
    require(right, f"{output} runs from {low:.6g} to {high:.6g}; expected {ends[0]:g} to {ends[1]:g}")
    require(low < high, f"{output} is {low:.6g} everywhere, though a body stands before a background")
    return f"{low:.3g} to {high:.3g}"


@check("range")
def alpha(subject: RendererSubject) -> None:
    """The last channel of rgba is the silhouette."""
    require_output(subject, "rgba")
    require_output(subject, "silhouette")
    dtype = precision(subject)
    image = subject.renderer.render(gem(1, dtype), camera(dtype), outputs=("rgba", "silhouette"))
    assert image.rgba is not None
    assert image.silhouette is not None
    off = float((image.rgba[..., 3] - image.silhouette).abs().max())
    require(off <= SLACK, f"rgba's alpha and the silhouette differ by {off:.3g}")


def shadings(subject: RendererSubject) -> tuple[str, ...]:
    """Return the claimed shadings that respond to light."""
    return tuple(sorted(subject.renderer.capabilities.shadings - {"unlit"})) or ("none",)


@check("range", shadings)
def light(subject: RendererSubject, shading: str) -> None:
    """Lit surfaces are finite, non-negative, and darker under less light."""
    require_output(subject, "rgba")
    if shading == "none":
        raise Skip("the renderer claims no shading but 'unlit'")
    dtype = precision(subject)
    bright = draw(subject, with_shading(gem(1, dtype), shading), camera(dtype), "rgba", lamps(dtype))[..., :3]
    dark = draw(subject, with_shading(gem(1, dtype), shading), camera(dtype), "rgba", lamps(dtype)[:1])[..., :3]
    require_finite("a lit image", bright)
    require(float(bright.min()) >= -SLACK, f"a lit image has the colour {float(bright.min()):.3g}")
    require(float(dark.sum()) < float(bright.sum()), "putting two lamps out does not make the image darker")


@check("background", claimed_outputs)
def beside_the_body(subject: RendererSubject, output: str) -> None:
    """Pixels far from a small square have no coverage, the far depth and no face; its middle is covered."""
    dtype = precision(subject)
    found = draw(subject, square(2.0, 0.35, dtype), front(dtype), output).double()[0]
    corner, middle = found[0, 0], found[SIZE[0] // 2, SIZE[1] // 2]
    nothing = {"silhouette": 0.0, "depth": FAR, "face_index": -1.0}.get(output)
    if nothing is not None:
        require(
            abs(float(corner) - nothing) <= 1e-6 * FAR,
            f"{output} is {float(corner):.6g} in a corner; expected {nothing:g}",
        )
        require(abs(float(middle) - nothing) > 0.5, f"{output} is {float(middle):.6g} in the middle of the square")
    else:
        require(float(corner[3]) <= 1e-6, f"alpha is {float(corner[3]):.3g} in a corner; expected 0")
        require(float(middle[3]) >= 0.9, f"alpha is {float(middle[3]):.3g} in the middle of the square; expected 1")
        off = float((middle[:3] - torch.tensor([0.8, 0.4, 0.2], dtype=torch.float64)).abs().max())
        require(off <= 0.1, f"an unlit square of colour (0.8, 0.4, 0.2) shows {middle[:3].tolist()} in its middle")


@check("background")
def colour(subject: RendererSubject) -> None:
    """The setting ``background`` is the colour beside the body."""
    require_output(subject, "rgba")
    if not any(field.name == "background" for field in dataclasses.fields(subject.renderer)):  # type: ignore[arg-type]
        raise Skip("the renderer has no setting 'background'")
    dtype, wanted = precision(subject), (0.25, 0.5, 0.75)
    other = dataclasses.replace(subject.renderer, background=wanted)  # type: ignore[type-var]
    rgba = other.render(square(2.0, 0.35, dtype), front(dtype)).rgba
    assert rgba is not None
    off = float((rgba[0, 0, 0, :3].double() - torch.tensor(wanted, dtype=torch.float64)).abs().max())
    require(off <= 1e-6, f"with background={wanted} a corner shows {rgba[0, 0, 0, :3].tolist()}")


CHECKS = (bounds, alpha, light, beside_the_body, colour)
