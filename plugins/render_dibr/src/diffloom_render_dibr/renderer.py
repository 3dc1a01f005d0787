"""DIB-R as a renderer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import torch

from diffloom.interfaces import Camera, Capabilities, Image, InputError, Light, Renderer, Surface
from diffloom.validation import check_choice, check_settings
from diffloom_raster import check_limit, check_rgb, check_scene

#: Probability under which a face no longer counts in the soft mask.
LEAST = 1e-4

CAPABILITIES = Capabilities(
    outputs=frozenset({"rgba", "silhouette", "depth", "face_index"}),
    gradients=frozenset({"vertices", "colours", "texture", "light", "eye", "rotation", "focal"}),
    dtypes=frozenset({torch.float32, torch.float64}),
    per_frame=frozenset({"colours", "image"}),
    materials=True,
)


@dataclass(frozen=True)
class DibrRenderer(Renderer):
    """DIB-R (Chen et al. 2019): every pixel shows the nearest face that holds its centre, with a soft mask around the
    object.

    Colours and depth pass gradients where a face is shown, the mask passes them around it. The silhouette is the soft
    mask: 1 where covered, else 1 - prod (1 - exp(-sigmainv d^2)) over the nearest faces, d being the distance from a
    face where the image's short side spans 2.

    Args:
        sigmainv: Sharpness of the mask; comparable to 1 / sigma of the soft rasterizer.
        boxlen: Distance from a face up to which the mask reaches, in the units of d. None for the distance at which the
            probability falls to 1e-4 (0.02 with compat).
        knum: Number of nearest faces that count at a pixel, or None for all within reach.
        background: Red, green, blue where nothing is shown.
        cull_backfaces: Leave out faces turned away from the camera. None for no (yes with compat).
        compat: "kaolin" to follow Kaolin in everything: affine interpolation on the image, the first ``knum`` faces by
            index instead of the nearest, distances in units of half the width and height, culling by the normal's z,
            faces that reach behind the camera's near left out instead of cut.
        backend: "native"; "kaolin" for that library, on CUDA; "auto" for it where it is installed and tensors are on a
            GPU.
        target: Where the native back end runs: "auto", "serial", "parallel" or "cuda".

    Example:
        DibrRenderer = get_renderer("dibr")
        image = DibrRenderer(sigmainv=1000.0).render(surface, camera, outputs=("rgba", "depth"))
    """

    sigmainv: float = 7000.0
    boxlen: float | None = None
    knum: int | None = 30
    background: tuple[float, float, float] = (0.0, 0.0, 0.0)
    cull_backfaces: bool | None = None
    compat: Literal["kaolin"] | None = None
    backend: Literal["native", "kaolin", "auto"] = "native"
    target: Literal["auto", "serial", "parallel", "cuda"] = "auto"
    edge_gradients: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_choice("DibrRenderer.backend", self.backend, ("native", "kaolin", "auto"))
        check_choice("DibrRenderer.target", self.target, ("auto", "serial", "parallel", "cuda"))
        if self.compat not in (None, "kaolin"):
            raise InputError(f"DibrRenderer.compat: got {self.compat!r}; expected 'kaolin' or None")
        check_settings(self)
        for name, usual in (("sigmainv", "7000"), ("boxlen", "0.02, or None")):
            value = getattr(self, name)
            if not (value is None and name == "boxlen") and not (math.isfinite(value) and value > 0.0):
                raise InputError(f"DibrRenderer.{name}: got {value!r}; expected a number above 0, such as {usual}")
        check_limit("DibrRenderer.knum", self.knum)
        check_rgb("DibrRenderer.background", self.background)

    @property
    def reach(self) -> float:
        """Distance from a face up to which the mask reaches, in the units of sigmainv."""
        if self.boxlen is not None:
            return self.boxlen
        return 0.02 if self.compat else math.sqrt(math.log(1.0 / LEAST) / self.sigmainv)

    @property
    def culls(self) -> bool:
        """True if faces seen from behind are left out."""
        return self.compat is not None if self.cull_backfaces is None else self.cull_backfaces

    @property
    def capabilities(self) -> Capabilities:
        return replace(CAPABILITIES, materials=self.backend != "kaolin")

    def render(
        self, surface: Surface, camera: Camera, lights: Sequence[Light] = (), outputs: Sequence[str] = ("rgba",)
    ) -> Image:
        frames = check_scene(surface, camera, lights, outputs, self.capabilities)
        if self._uses_library(surface):
            from . import kaolin_backend

            return kaolin_backend.render(self, surface, camera, lights, outputs, frames)
        from . import native

        return native.render(self, surface, camera, lights, outputs, frames)

    def _uses_library(self, surface: Surface) -> bool:
        if self.backend != "auto":
            return self.backend == "kaolin"
        from .kaolin_backend import why_unavailable

        one = len(surface.materials) == 1
        return one and surface.vertices.is_cuda and why_unavailable() is None
