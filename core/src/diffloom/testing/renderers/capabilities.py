"""What a renderer claims: words there are, and settings that may be replaced."""

from __future__ import annotations

import torch

from diffloom.interfaces import Capabilities, Renderer
from diffloom.testing.checks import check, require
from diffloom.testing.renderers.images import OUTPUTS
from diffloom.testing.settings_objects import frozen
from diffloom.testing.subjects import RendererSubject

GRADIENTS = ("vertices", "colours", "texture", "light", "eye", "rotation", "focal")
PER_FRAME = ("colours", "image")
SHADINGS = ("unlit", "lambert", "phong")


@check("capabilities")
def settings(subject: RendererSubject) -> None:
    """It is a frozen dataclass that derives from Renderer and needs no arguments."""
    frozen(subject.renderer, Renderer)


@check("capabilities")
def claims(subject: RendererSubject) -> str:
    """Outputs, gradients, precisions and shadings are ones there are, and at least one image can be had."""
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


CHECKS = (settings, claims)
