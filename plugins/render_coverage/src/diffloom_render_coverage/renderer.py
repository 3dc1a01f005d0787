"""The renderer "coverage"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch

from diffloom.interfaces import Camera, Capabilities, Image, Light, Renderer, Surface
from diffloom.validation import check_choice, check_settings
from diffloom_raster import check_rgb, check_scene

CAPABILITIES = Capabilities(
    outputs=frozenset({"rgba", "silhouette", "depth", "face_index"}),
    gradients=frozenset({"vertices", "colours", "texture", "light", "eye", "rotation", "focal"}),
    dtypes=frozenset({torch.float32, torch.float64}),
    per_frame=frozenset({"colours", "image"}),
    materials=True,
)


@dataclass(frozen=True)
class CoverageRenderer(Renderer):
    """Exact coverage: each pixel is the mean colour over its square of the nearest surface.

    Nothing is softened, so there is no softness to choose and no size that is drawn too large. Gradients are those of
    the same function: of moving outlines, of moving edges between objects, and of the colours inside.

    background: rgb where nothing is shown.
    cull_backfaces: leave out faces turned away from the camera (True), or none (False). None for those of closed parts
        of the mesh, whose backs are hidden anyway.
    target: where kernels run: "auto", "serial", "parallel" or "cuda".
    """

    unbiased: ClassVar[bool] = True

    background: tuple[float, float, float] = (0.0, 0.0, 0.0)
    cull_backfaces: bool | None = None
    target: Literal["auto", "serial", "parallel", "cuda"] = "auto"

    def __post_init__(self) -> None:
        check_choice("CoverageRenderer.target", self.target, ("auto", "serial", "parallel", "cuda"))
        check_settings(self)
        check_rgb("CoverageRenderer.background", self.background)

    @property
    def capabilities(self) -> Capabilities:
        return CAPABILITIES

    def render(
        self, surface: Surface, camera: Camera, lights: Sequence[Light] = (), outputs: Sequence[str] = ("rgba",)
    ) -> Image:
        frames = check_scene(surface, camera, lights, outputs, self.capabilities)
        from . import native

        return native.render(self, surface, camera, lights, outputs, frames)
