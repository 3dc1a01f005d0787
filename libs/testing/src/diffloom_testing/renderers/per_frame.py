"""Checks of colours and textures that change over time; a renderer that does not claim them refuses them."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from diffloom.interfaces import Surface
from diffloom_testing.comparisons import describe_worst, require_matching_gradients, require_refusal, require_same_bits
from diffloom_testing.renderers.geometry import tolerance
from diffloom_testing.renderers.images import draw, precision, require_output
from diffloom_testing.results import Skip, check, require
from diffloom_testing.scenes import camera, gem, make_chequered
from diffloom_testing.subjects import RendererSubject

FRAMES = 3
#: Inputs that may change over time, by their word in ``Capabilities.per_frame``.
CASES = {"colours per vertex": "colours", "colours per face": "colours", "image": "image"}
#: Tolerance of the gradient; images are smooth and mostly linear in colours, so differences of any length agree.
TOLERANCE = 1e-6


def cases(subject: RendererSubject) -> tuple[str, ...]:
    """Return every input that may change over time, claimed or not."""
    return tuple(CASES)


def require_claim(subject: RendererSubject, case: str) -> None:
    """Raise Skip if an input is not claimed."""
    require_output(subject, "rgba")
    if CASES[case] not in subject.renderer.capabilities.per_frame:
        raise Skip(f"the renderer does not claim {CASES[case]!r} in per_frame")


def build_moving_body(case: str, dtype: torch.dtype) -> tuple[Surface, Tensor]:
    """Return a moving body and values (FRAMES, ...) of an input for every frame."""
    surface, random = gem(FRAMES, dtype), torch.Generator().manual_seed(5)
    shape: tuple[int, ...] = (len(surface.faces) if "face" in case else int(surface.vertices.shape[1]), 3)
    if case == "image":
        surface = replace(make_chequered(dtype), vertices=surface.vertices)
        assert surface.texture is not None
        shape = tuple(surface.texture.image.shape)
    values = 0.1 + 0.8 * torch.rand((FRAMES, *shape), generator=random, dtype=torch.float64)
    return surface, values.to(dtype)


def set_colours(surface: Surface, case: str, values: Tensor) -> Surface:
    """Return the surface with these colours or this image."""
    if case == "image":
        assert surface.texture is not None
        return replace(surface, texture=replace(surface.texture, image=values))
    return replace(surface, colours=values, colour_per="face" if "face" in case else "vertex")


@check("per_frame", cases)
def equal_frames(subject: RendererSubject, case: str) -> None:
    """Equal colours for every frame draw the same bits as colours given once."""
    require_claim(subject, case)
    dtype = precision(subject)
    surface, values = build_moving_body(case, dtype)
    once = draw(subject, set_colours(surface, case, values[0]), camera(dtype))
    each = draw(subject, set_colours(surface, case, values[:1].expand_as(values)), camera(dtype))
    require_same_bits(f"{case} given once and for every frame", once, each)


@check("per_frame", cases)
def own_frames(subject: RendererSubject, case: str) -> None:
    """Every frame is drawn with its own values and passes gradients to them alone, whether the mesh moves or not."""
    require_claim(subject, case)
    dtype = precision(subject)
    surface, values = build_moving_body(case, dtype)
    for still in (False, True):
        base = replace(surface, vertices=surface.vertices[:1]) if still else surface
        leaf = values.clone().requires_grad_()
        together = draw(subject, set_colours(base, case, leaf), camera(dtype))
        for k in range(FRAMES):
            alone = draw(subject, set_colours(base if still else base.frames([k]), case, values[k]), camera(dtype))
            off = float((together[k].detach() - alone[0]).abs().max())
            require(off <= tolerance(dtype), f"frame {k} of {FRAMES} and the same drawn alone differ by {off:.3g}")
        (found,) = torch.autograd.grad(together[1].sum(), leaf)
        require(float(found[1].abs().max()) > 0.0, f"frame 1 passes no gradient to its own {case}")
        stray = float(torch.cat([found[:1], found[2:]]).abs().max())
        require(stray == 0.0, f"frame 1 passes a gradient of up to {stray:.3g} to the {case} of other frames")


@check("per_frame", cases)
def exact(subject: RendererSubject, case: str) -> str:
    """The gradient by the values of every frame agrees with differences, and is not zero."""
    require_claim(subject, case)
    claims = subject.renderer.capabilities
    if ("texture" if case == "image" else "colours") not in claims.gradients:
        raise Skip("the renderer does not claim this gradient")
    if torch.float64 not in claims.dtypes:
        raise Skip("the renderer does not claim float64, which differences need")
    surface, values = build_moving_body(case, torch.float64)

    def image(values: Tensor) -> Tensor:
        return draw(subject, set_colours(surface, case, values), camera())

    found = require_matching_gradients(image, {"values": values}, tolerance=TOLERANCE)
    require(not all(c.silent for c in found), f"rgba does not depend on {case} at all, though it must")
    return describe_worst(found)


@check("per_frame", cases)
def frames_that_do_not_fit(subject: RendererSubject, case: str) -> None:
    """Two frames of values for three cameras are refused; an unclaimed input is refused by its name."""
    require_output(subject, "rgba")
    dtype = precision(subject)
    surface, values = build_moving_body(case, dtype)
    name = "Texture.image" if case == "image" else "Surface.colours"
    if CASES[case] not in subject.renderer.capabilities.per_frame:
        drawn = set_colours(surface, case, values)
        require_refusal(f"{case} for every frame", lambda: draw(subject, drawn, camera(dtype)), name)
        return
    view = camera(dtype)
    eyes = replace(view, eye=view.eye.expand(FRAMES, -1))
    two = set_colours(replace(surface, vertices=surface.vertices[:1]), case, values[:2])
    require_refusal(f"{case} for 2 frames and 3 cameras", lambda: draw(subject, two, eyes), name)


CHECKS = (equal_frames, own_frames, exact, frames_that_do_not_fit)
