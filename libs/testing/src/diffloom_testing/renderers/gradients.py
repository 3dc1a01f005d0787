"""Checks of every gradient that a renderer claims, for every output, against differences."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from diffloom.interfaces import Camera, PointLight, Surface
from diffloom_testing.comparisons import describe_worst, require_matching_gradients
from diffloom_testing.renderers.images import claimed_outputs, differentiable_outputs, draw
from diffloom_testing.renderers.interface import GRADIENTS
from diffloom_testing.results import Skip, check, require
from diffloom_testing.scenes import camera, gem, lamps, make_chequered, with_shading
from diffloom_testing.subjects import RendererSubject

#: Lengths of differences, short ones first, because an edge that crosses a pixel's centre makes long ones jump.
STEPS = (1e-6, 1e-7, 1e-5, 1e-4)
TOLERANCE = 2e-5

#: Inputs with an effect on colours only.
COLOURING = ("colours", "texture", "light")


def pairs(subject: RendererSubject) -> tuple[str, ...]:
    """Return ``output by input`` for all possible pairs, so that the report mentions the unclaimed ones."""
    outputs = differentiable_outputs(subject)
    return tuple(f"{o} by {i}" for i in GRADIENTS for o in outputs if o == "rgba" or i not in COLOURING)


def scene_of(name: str) -> tuple[Surface, Camera, dict[str, Tensor]]:
    """Return a scene and its input that is differentiated."""
    view = camera()
    if name == "texture":
        surface = make_chequered()
        assert surface.texture is not None
        return surface, view, {"texture": surface.texture.image}
    surface = gem(2) if name not in ("light",) else with_shading(gem(2))
    assert surface.colours is not None
    lamp = lamps()[1]
    assert isinstance(lamp, PointLight)
    inputs = {
        "vertices": {"vertices": surface.vertices},
        "colours": {"colours": surface.colours},
        "light": {"position": torch.as_tensor(lamp.position), "diffuse": torch.as_tensor(lamp.diffuse)},
        "eye": {"eye": view.eye},
        "rotation": {"rotation": view.rotation},
        "focal": {"focal": view.focal},
    }[name]
    return surface, view, inputs


@check("gradients", pairs)
def exact(subject: RendererSubject, pair: str) -> str:
    """The gradient of an output by an input agrees with differences, and is not zero."""
    output, name = pair.split(" by ")
    claims = subject.renderer.capabilities
    if name not in claims.gradients:
        raise Skip(f"the renderer does not claim gradients by {name}")
    if torch.float64 not in claims.dtypes:
        raise Skip("the renderer does not claim float64, which differences need")
    if name == "light" and "lambert" not in claims.shadings:
        raise Skip("the renderer does not claim the shading 'lambert'")
    surface, view, inputs = scene_of(name)

    def image(**given: Tensor) -> Tensor:
        appearance = {k: v for k, v in given.items() if k in ("vertices", "colours")}
        drawn = replace(surface, **appearance)  # type: ignore[arg-type]
        if "texture" in given and surface.texture is not None:
            drawn = replace(drawn, texture=replace(surface.texture, image=given["texture"]))
        seen = replace(view, **{k: v for k, v in given.items() if k in ("eye", "rotation", "focal")})  # type: ignore[arg-type]
        lights = ()
        if "position" in given:
            first, _, last = lamps()
            lights = (first, PointLight(given["position"], given["diffuse"], 0.1), last)  # type: ignore[assignment]
        return draw(subject, drawn, seen, output, lights)

    found = require_matching_gradients(image, inputs, tolerance=TOLERANCE, steps=STEPS)
    require(not all(c.silent for c in found), f"{output} does not depend on {name} at all, though it must")
    return describe_worst(found)


@check("gradients")
def claims_something(subject: RendererSubject) -> str:
    """A differentiable renderer claims at least the gradient by vertices."""
    claimed = subject.renderer.capabilities.gradients
    if not claimed:
        raise Skip("the renderer claims no gradients: it draws, and fits nothing")
    require("vertices" in claimed, f"it claims gradients by {', '.join(sorted(claimed))} and not by vertices")
    return f"{len(claimed)} of {len(GRADIENTS)}, outputs {', '.join(claimed_outputs(subject))}"


CHECKS = (claims_something, exact)
