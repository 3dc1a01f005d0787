"""Soft rasterizer as a renderer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import torch

from diffloom.interfaces import Camera, Capabilities, Image, InputError, Light, Renderer, Surface
from diffloom.validation import check_choice, check_settings
from diffloom_raster import check_limit, check_rgb, check_scene

BACKENDS = ("native", "pytorch3d", "auto")
TARGETS = ("auto", "serial", "parallel", "cuda")

NATIVE = Capabilities(
    outputs=frozenset({"rgba", "silhouette", "depth", "face_index"}),
    gradients=frozenset({"vertices", "colours", "texture", "light", "eye", "rotation", "focal"}),
    dtypes=frozenset({torch.float32, torch.float64}),
    per_frame=frozenset({"colours", "image"}),
    materials=True,
)
#: Capabilities of the back end "pytorch3d".
LIBRARY = replace(NATIVE, dtypes=frozenset({torch.float32}), materials=False)


@dataclass(frozen=True)
class SoftRasRenderer(Renderer):
    """Soft rasterizer (Liu et al. 2019): every face touches every pixel a little, so that images are smooth in all
    inputs.

    Args:
        sigma: Blur of faces, a squared length where the image's short side spans 2. A face covers a pixel at distance d
            outside its outline with probability 1 / (1 + exp(d^2 / sigma)), inside with d^2 negated.
        sigma_pixels: Blur as a length s [px], sigma = s^2 in pixels, instead of ``sigma``.
        least_probability: Probability at which a face's reach outside ends. 1e-4 ends it at d = 3.03 sqrt(sigma).
        gamma: Softness of occlusion, in depth over (far - near): a face dz metres behind another weighs exp(-dz /
            (gamma (far - near))).
        faces_per_pixel: Number of nearest faces that count at a pixel, with those as deep as the last of them (to 1e-8
            of its depth, 1e-5 in float32); None for all within reach (PyTorch3D: the nearest 100). A limit saves time,
            but images jump where faces change places in depth, and gradients leave these jumps out.
        background: Red, green, blue behind everything.
        cull_backfaces: Leave out faces turned away from the camera.
        perspective_correct: Weigh the corners of faces in space (True) or in the image (False).
        backend: "native"; "pytorch3d" for that library; "auto" for it where it is installed and tensors are on a GPU.
        target: Where the native back end runs: "auto", "serial", "parallel" or "cuda".

    Example:
        SoftRasRenderer = get_renderer("softras")
        image = SoftRasRenderer(sigma_pixels=1.0).render(surface, camera, outputs=("rgba", "silhouette"))
    """

    sigma: float = 1e-4
    sigma_pixels: float | None = None
    least_probability: float = 1e-4
    gamma: float = 1e-4
    faces_per_pixel: int | None = None
    background: tuple[float, float, float] = (0.0, 0.0, 0.0)
    cull_backfaces: bool = False
    perspective_correct: bool = True
    backend: Literal["native", "pytorch3d", "auto"] = "native"
    target: Literal["auto", "serial", "parallel", "cuda"] = "auto"

    def __post_init__(self) -> None:
        check_choice("SoftRasRenderer.backend", self.backend, BACKENDS)
        check_choice("SoftRasRenderer.target", self.target, TARGETS)
        check_settings(self)
        for name in ("sigma", "gamma", "sigma_pixels"):
            value = getattr(self, name)
            if value is not None and not (math.isfinite(value) and value > 0.0):
                raise InputError(f"SoftRasRenderer.{name}: got {value!r}; expected a number above 0, such as 1e-4")
        if not 0.0 < self.least_probability < 0.5:
            raise InputError(
                f"SoftRasRenderer.least_probability: got {self.least_probability!r}; expected between 0 and 0.5"
            )
        check_limit("SoftRasRenderer.faces_per_pixel", self.faces_per_pixel)
        check_rgb("SoftRasRenderer.background", self.background)

    @property
    def reach_in_sigma(self) -> float:
        """Squared distance, in units of sigma, at which a face's probability falls to ``least_probability``."""
        return math.log(1.0 / self.least_probability - 1.0)

    def find_sigma(self, camera: Camera) -> float:
        """Return sigma as a squared length where the short side of the camera's image spans 2.

        Args:
            camera: Camera, for the size of its image.

        Returns:
            sigma, no unit.
        """
        if self.sigma_pixels is None:
            return self.sigma
        return (self.sigma_pixels / (0.5 * min(camera.height, camera.width))) ** 2

    @property
    def capabilities(self) -> Capabilities:
        return LIBRARY if self.backend == "pytorch3d" else NATIVE

    def render(
        self, surface: Surface, camera: Camera, lights: Sequence[Light] = (), outputs: Sequence[str] = ("rgba",)
    ) -> Image:
        frames = check_scene(surface, camera, lights, outputs, self.capabilities)
        if self._uses_library(surface):
            from . import pytorch3d_backend

            return pytorch3d_backend.render(self, surface, camera, lights, outputs, frames)
        from . import native

        return native.render(self, surface, camera, lights, outputs, frames)

    def _uses_library(self, surface: Surface) -> bool:
        if self.backend != "auto":
            return self.backend == "pytorch3d"
        from .pytorch3d_backend import why_unavailable

        suits = surface.vertices.is_cuda and surface.vertices.dtype in LIBRARY.dtypes
        return suits and why_unavailable() is None
