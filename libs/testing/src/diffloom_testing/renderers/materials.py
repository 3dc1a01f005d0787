"""Checks of faces with different materials; a renderer that does not claim them refuses them."""

from __future__ import annotations

from dataclasses import replace

import torch

from diffloom.interfaces import FaceMaterials, Material, Surface, join_surfaces
from diffloom_testing.comparisons import require_refusal, require_same_bits
from diffloom_testing.renderers.geometry import tolerance
from diffloom_testing.renderers.images import draw, precision, require_output
from diffloom_testing.results import Skip, check, require
from diffloom_testing.scenes import camera, gem, lamps
from diffloom_testing.subjects import RendererSubject

MATERIALS = (
    Material("unlit"),
    Material("lambert", ambient=0.9, diffuse=(0.2, 0.6, 0.4), specular=9.0),
    Material("phong", ambient=0.4, diffuse=0.5, specular=0.6, shininess=4.0),
)


def build_bodies(dtype: torch.dtype) -> list[Surface]:
    """Return a gem of each material, side by side."""
    whole = gem(1, dtype)
    places = [0.35 * whole.vertices + torch.tensor([x, 0.0, 0.0], dtype=dtype) for x in (-0.9, 0.0, 0.9)]
    return [replace(whole, vertices=at, material=one) for at, one in zip(places, MATERIALS, strict=True)]


def build_claimed_bodies(subject: RendererSubject) -> list[Surface]:
    """Return the bodies with a claimed shading, in the claimed precision, and one more, so that there are two."""
    require_output(subject, "rgba")
    shadings = subject.renderer.capabilities.shadings
    found = [body for body in build_bodies(precision(subject)) if body.materials[0].shading in shadings]
    shift = torch.tensor([0.0, 0.7, 0.0], dtype=precision(subject))
    dim = replace(found[-1].materials[0], ambient=0.3)
    return [*found, replace(found[-1], vertices=found[-1].vertices + shift, material=dim)]


@check("materials")
def as_if_alone(subject: RendererSubject) -> str:
    """Bodies of different materials are drawn together as each of them alone."""
    parts, dtype = build_claimed_bodies(subject), precision(subject)
    if not subject.renderer.capabilities.materials:
        raise Skip("the renderer does not claim materials of faces")
    together, most = draw(subject, join_surfaces(parts), camera(dtype), "rgba", lamps(dtype)), 0.0
    apart = [draw(subject, part, camera(dtype), "rgba", lamps(dtype)) for part in parts]
    for k, alone in enumerate(apart):
        others = torch.stack([image[..., 3] for n, image in enumerate(apart) if n != k]).amax(dim=0)
        shown = (alone[..., 3] > 0.5) & (others < 1e-9)
        require(bool(shown.any()), "no pixel shows one body alone; nothing is compared")
        most = max(most, float((together[shown] - alone[shown]).abs().max()))
    require(most <= 10.0 * tolerance(dtype), f"bodies of several materials and each of them alone differ by {most:.3g}")
    return f"{most:.1e}"


@check("materials")
def one_for_all(subject: RendererSubject) -> None:
    """One material, given by number for every face, draws the same bits as given for all faces."""
    parts, dtype = build_claimed_bodies(subject), precision(subject)
    if not subject.renderer.capabilities.materials:
        raise Skip("the renderer does not claim materials of faces")
    body = parts[-1]
    numbered = FaceMaterials(body.materials, torch.zeros(len(body.faces), dtype=torch.int64))
    once, each = (
        draw(subject, replace(body, material=given), camera(dtype), "rgba", lamps(dtype))
        for given in (body.materials[0], numbered)
    )
    require_same_bits("a material for all faces and for each", once, each)


@check("materials")
def not_claimed(subject: RendererSubject) -> None:
    """Several materials are refused by name if they are not claimed."""
    parts, dtype = build_claimed_bodies(subject), precision(subject)
    if subject.renderer.capabilities.materials:
        raise Skip("the renderer draws materials of faces")
    require_refusal("several materials", lambda: draw(subject, join_surfaces(parts), camera(dtype)), "Surface.material")


CHECKS = (as_if_alone, one_for_all, not_claimed)
